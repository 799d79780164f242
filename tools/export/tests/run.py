"""Runs the exporter's tests for ctest: exit code 77 (skipped) where PyTorch is not installed."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    try:
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print("skipped: %s" % error)
        return 77
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.discover(HERE))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
