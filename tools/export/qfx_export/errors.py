"""The one error a user of the exporter meets: what was found where, and what to do about it."""


class ExportError(Exception):
    """The model cannot be written as .qfx. The text names the place, what was found and a way out."""


class ForeignFunctionError(ExportError):
    """A function outside PyTorch's library stands in the graph; torch.export sees through it."""
