"""The errors a user of the exporter meets: what was found where, and what to do about it."""


class ExportError(Exception):
    """The model cannot be written as .qfx. The text names the place, what was found and a way out."""


class UnknownTargetError(ExportError):
    """The graph calls a function or a module class that qfx has no operator for; torch.export sees through it."""
