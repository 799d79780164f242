"""Percentile, entropy and MSE observers computed a second time, from docs/Observers.md and in plain Python: writes estimators.json.

Nothing here comes from qfx. Only numpy is used, for float32; inputs are those of inputs.py (which wants torch to hold them).
"""
import json
import math
import pathlib
import sys

import numpy as np

import inputs

HERE = pathlib.Path(__file__).parent
F = np.float32
FAMILIES = ["uniform", "positive", "negative", "relu_batches", "cubed", "cubed_batches", "outlier", "shrinking", "walk", "constant", "zeros", "zeros_then_range",
            "tiny", "denormal", "large", "far", "integers", "infinities", "only_infinity", "nan_later", "empty", "growing", "many"]


class Grid:
    """Counts of floor(x / 2^e) for the least e that puts all finite values into `bins` cells."""

    def __init__(self, batches, bins):
        values = np.concatenate([b.astype(F) for b in batches]) if batches else np.zeros(0, F)
        self.values = values[np.isfinite(values)].astype(np.float64)
        self.empty = len(self.values) == 0
        if self.empty:
            return
        self.low, self.high = float(self.values.min()), float(self.values.max())
        self.width = self.width_of(self.low, self.high, bins)
        self.wide = self.width_of(min(self.low, 0.0), max(self.high, 0.0), bins)
        self.counts = self.count(self.width)

    @staticmethod
    def width_of(low, high, bins):
        largest = max(abs(low), abs(high))
        e = max((math.frexp(largest)[1] - 1 - 22) if largest else -126, -126)
        while math.floor(high / 2.0**e) - math.floor(low / 2.0**e) >= bins:
            e += 1
        return 2.0**e

    def count(self, width):
        counts = {}
        for cell in np.floor(self.values / width).astype(np.int64).tolist():
            counts[cell] = counts.get(cell, 0) + 1
        return counts

    def folded(self):
        """Counts of |x| in cells of width `wide`."""
        out = {}
        for cell, count in self.count(self.wide).items():
            key = cell if cell >= 0 else -1 - cell
            out[key] = out.get(key, 0) + count
        return [out.get(i, 0) for i in range(max(out) + 1)]


def qparams(low, high, config):
    """numerics 2.4 in float32."""
    lo, hi = config["range"]
    low, high = F(low), F(high)
    if config["symmetric"]:
        scale = max(F(max(-low, high) / F((hi - lo) / 2)), F(2.0**-23))
        return scale, {"quint8": 128}.get(config["dtype"], 0)
    scale = max(F(F(high - low) / F(hi - lo)), F(2.0**-23))
    return scale, int(min(max(lo - int(np.rint(F(low / scale))), lo), hi))


def clip(low, high, grid, config):
    return qparams(min(max(F(low), F(grid.low)), F(0)), max(min(F(high), F(grid.high)), F(0)), config)


def percentile(grid, config):
    share, total = (100 - config["percentile"]) / 100, sum(grid.counts.values())

    def cut(cells, limit):  # cells from the outside in: how many may go
        gone = dropped = 0
        for count in cells:
            gone += count
            if gone > limit:
                break
            dropped += 1
        return dropped

    if config["symmetric"]:
        folded = grid.folded()
        reach = (len(folded) - cut(folded[::-1], share * total)) * grid.wide
        return clip(-reach, reach, grid, config)
    first, last = min(grid.counts), max(grid.counts)
    line = [grid.counts.get(c, 0) for c in range(first, last + 1)]
    return clip((first + cut(line, share / 2 * total)) * grid.width, (last + 1 - cut(line[::-1], share / 2 * total)) * grid.width, grid, config)


def entropy(grid, config):
    counts = np.array(grid.folded(), dtype=np.float64)
    codes = config["range"][1] - config["range"][0] + 1
    levels = codes if not config["symmetric"] and (grid.low >= 0 or grid.high <= 0) else codes // 2
    best, least = len(counts), math.inf
    for size in range(len(counts), levels, -1):
        inside = counts[:size].sum()
        if inside == 0:
            continue
        p = counts[:size].copy()
        p[np.flatnonzero(p)[-1]] += counts[size:].sum()
        borders = np.array([g * size // levels for g in range(levels + 1)])
        occupied = counts[:size] != 0
        sums, filled = np.add.reduceat(counts[:size], borders[:-1]), np.add.reduceat(occupied.astype(np.float64), borders[:-1])
        q = np.repeat(sums / np.maximum(filled, 1), np.diff(borders)) * occupied
        p, q = p / counts.sum(), q / inside
        seen = p > 0
        divergence = math.inf if (q[seen] == 0).any() else float((p[seen] * np.log(p[seen] / q[seen])).sum())
        if divergence < least * (1 - 1e-12):  # sums of another order: ties to the last digits go to the wider range
            best, least = size, divergence
    return clip(-best * grid.wide, best * grid.wide, grid, config)


def squared_error(grid, config):
    lo, hi = config["range"]
    cells = sorted(grid.counts)
    middles = np.clip((np.array(cells, dtype=np.float64) + 0.5) * grid.width, grid.low, grid.high)
    counts = np.array([grid.counts[c] for c in cells], dtype=np.float64)
    best, least = None, math.inf
    for percent in range(100, 0, -1):
        scale, zero = clip(grid.low * (percent / 100), grid.high * (percent / 100), grid, config)
        codes = np.clip(np.rint(middles / float(scale)) + zero, lo, hi)
        error = float((counts * ((codes - zero) * float(scale) - middles) ** 2).sum())
        if best is None or error < least * (1 - 1e-12):
            best, least = (scale, zero), error
    return best


ESTIMATORS = {"PercentileObserver": percentile, "EntropyObserver": entropy, "MSEObserver": squared_error}
CONFIGS = [{"dtype": "quint8", "symmetric": False, "range": (0, 255), "reduce_range": False}, {"dtype": "quint8", "symmetric": False, "range": (0, 127), "reduce_range": True},
           {"dtype": "qint8", "symmetric": True, "range": (-128, 127), "reduce_range": False}]


def main():
    rows = []
    for family in FAMILIES:
        batches = [b.numpy() for b in inputs.make_family(family)]
        for name, estimate in ESTIMATORS.items():
            for config in CONFIGS:
                for extra in ({"percentile": p} for p in (99.99, 99.0, 100.0)) if name == "PercentileObserver" else ({},):
                    for bins in (2048, 300):
                        grid = Grid(batches, bins)
                        scale, zero = (F(1), 0) if grid.empty else estimate(grid, {**config, **extra})
                        rows.append({"class": name, "family": family, "dtype": config["dtype"], "symmetric": config["symmetric"],
                                     "reduce_range": config["reduce_range"], "bins": bins, **extra, "scale": int(np.array(scale, F).view(np.uint32)), "zero_point": zero})
        print(family, file=sys.stderr, flush=True)
    text = json.dumps({"numpy": np.__version__, "rows": rows}, separators=(",", ":")).replace('},{"class"', '},\n{"class"')
    (HERE / "estimators.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
