"""Makes HistogramObserver search each state once: configurations share results, and a search is up to 1e5 Python steps."""
from torch.ao.quantization import observer

_search = observer.HistogramObserver._non_linear_param_search
_found = {}


def search_once(self):
    """The search reads the state and dst_nbins only."""
    key = (self.dst_nbins, self.bins, self.min_val.numpy().tobytes(), self.max_val.numpy().tobytes(), self.histogram.numpy().tobytes())
    if key not in _found:
        _found[key] = _search(self)
    return _found[key]


observer.HistogramObserver._non_linear_param_search = search_once
