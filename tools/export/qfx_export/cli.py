"""The command line: python -m qfx_export --model pkg.module:callable --input f32[1,3,224,224] -o out.qfx"""
from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Dict, List, Optional

import torch

from .api import export
from .errors import ExportError
from .inputs import parse_input, read_batches
from .torchvision_import import import_module


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qfx_export",
        description="Writes a PyTorch model as .qfx text with its weights in .safetensors beside it.",
        epilog="example: python -m qfx_export --model torchvision.models:resnet18 --weights resnet18.pt "
        "--input f32[1,3,224,224] --calibration images.npz -o resnet18.qfx",
    )
    parser.add_argument("--model", required=True, metavar="MODULE:NAME",
                        help="a function or class that makes the model, or a model")
    parser.add_argument("--weights", metavar="FILE", help="state dict: .safetensors, or what torch.save wrote")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=]DTYPE[DIMS]",
                        help="one input, f32[1,3,224,224]; repeat in the order of forward")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.qfx")
    parser.add_argument("--calibration", metavar="DATA",
                        help="a folder of .npy files, .npz or .safetensors, arrays named <k>.<input> or <input>")
    parser.add_argument("--trace", choices=("auto", "fx", "export"), default="auto",
                        help="how to follow the model (default: auto)")
    parser.add_argument("--static-batch", action="store_true", help="keep the batch of --input instead of the symbol N")
    parser.add_argument("--train", action="store_true", help="export in training mode (default: eval)")
    return parser


def _load_model(text: str) -> torch.nn.Module:
    module_name, colon, name = text.partition(":")
    if not colon:
        raise ExportError("--model is MODULE:NAME, got '%s'" % text)
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ExportError("cannot find '%s': %s" % (text, error)) from error
    except Exception as error:  # the user's module runs while it is imported
        raise ExportError("importing '%s' failed: %s: %s" % (module_name, type(error).__name__, error)) from error
    finally:
        sys.path.pop(0)
    try:
        model = found if isinstance(found, torch.nn.Module) else found()
    except Exception as error:
        raise ExportError("calling '%s' failed: %s: %s" % (text, type(error).__name__, error)) from error
    if not isinstance(model, torch.nn.Module):
        raise ExportError("'%s' made a %s, expected an nn.Module" % (text, type(model).__name__))
    return model


def _load_weights(model: torch.nn.Module, path: str) -> None:
    try:
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file

            state: Dict[str, Any] = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
        for key in ("state_dict", "model"):
            if isinstance(state.get(key), dict):
                state = state[key]
        model.load_state_dict(state)
    except Exception as error:
        raise ExportError("cannot load '%s' into the model: %s" % (path, error)) from error


def _inputs(texts: List[str], batches: Optional[List[Dict[str, torch.Tensor]]]) -> Any:
    """Example inputs: what --input says, else the first calibration batch."""
    if not texts:
        if not batches:
            raise ExportError("the inputs' types are missing; give --input or --calibration")
        return batches[0]
    parsed = [parse_input(text) for text in texts]
    if all(not name for name, _ in parsed):
        return tuple(tensor for _, tensor in parsed)
    if any(not name for name, _ in parsed):
        raise ExportError("name all of --input or none")
    return dict(parsed)


def main(argv: Optional[List[str]] = None) -> int:
    """Runs the command line; returns 0, 1 (the model or data is at fault) or 2 (the command line is)."""
    options = _parser().parse_args(argv)
    try:
        for text in options.input:
            parse_input(text)
        if not os.path.isdir(os.path.dirname(os.path.abspath(options.output))):
            raise ValueError("the folder of '%s' does not exist" % options.output)
    except ValueError as error:
        print("qfx_export: error: %s" % error, file=sys.stderr)
        return 2
    try:
        model = _load_model(options.model)
        if options.weights:
            _load_weights(model, options.weights)
        model.train(options.train)
        batches = read_batches(options.calibration) if options.calibration else None
        result = export(
            model, _inputs(options.input, batches), options.output, batches,
            dynamic_batch=not options.static_batch, trace=options.trace)
    except (ExportError, OSError) as error:
        print("qfx_export: error: %s" % error, file=sys.stderr)
        return 1
    for path in (result.model_path, result.weights_path, result.calibration_path):
        if path:
            print("wrote %s" % path, file=sys.stderr)
    return 0
