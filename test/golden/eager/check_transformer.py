"""Compares what qfx's observers inside Transformer layers saw with PyTorch's (transformer/, made by make_transformer.py).

usage: check_transformer.py CALIBRATED.safetensors
Needs the Python standard library only. Ranges of float arithmetic must agree to 1e-5 of the range's larger end; infinite ones exactly.
"""
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "graphs"))
from check import read_safetensors  # noqa: E402


def main():
    expected = read_safetensors(os.path.join(HERE, "transformer", "expected.safetensors"))[0]
    found = read_safetensors(sys.argv[1])[0]
    problems = []
    for name in sorted(n for n in expected if n.endswith(".min_val")):
        names = (name, name[: -len("min_val")] + "max_val")
        want = [expected[n].values()[0] for n in names]
        have = [found[n].values()[0] if n in found else None for n in names]
        size = max(abs(v) for v in want)
        near = all(h is not None and (h == w or not math.isinf(w) and abs(h - w) <= 1e-5 * size) for h, w in zip(have, want))
        if not near:
            problems.append("%s: PyTorch saw %r, qfx %r" % (name.rpartition(".")[0], want, have))
    extra = sorted(n for n in found if n.endswith("activation_post_process.min_val") and n not in expected)
    problems += ["%s: PyTorch has no such observer" % n for n in extra]
    print("\n".join(problems) or "%d observers agree" % (len(expected) // 2))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
