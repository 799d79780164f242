"""Writes PyTorch models as .qfx text with .safetensors weights (grammar: docs/IR.md)."""
from .api import ExportResult, export
from .errors import ExportError

__all__ = ["ExportError", "ExportResult", "export"]
__version__ = "0.1.0"
