"""Entry of `python -m qfx_export`."""
import sys

from .cli import main

sys.exit(main())
