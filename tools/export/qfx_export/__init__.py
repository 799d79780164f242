"""Writes PyTorch models as .qfx text with .safetensors weights (grammar: docs/IR.md)."""
from .api import ExportResult, export
from .errors import ExportError
from .state_dict import flatten_state_dict, save_state_dict

__all__ = ["ExportError", "ExportResult", "export", "flatten_state_dict", "save_state_dict"]
__version__ = "0.1.0"
