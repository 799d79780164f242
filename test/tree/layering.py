#!/usr/bin/env python3
"""Arrows run down only: tools -> passes -> backends -> {ir, kernels}; headers ending in Detail.h stay in their folder."""
import pathlib
import re
import sys

ALLOWED = {
    "ir": {"ir"},
    "kernels": {"kernels"},
    "backends": {"backends", "ir", "kernels"},
    "passes": {"passes", "backends", "ir"},
    "tools": {"tools", "passes", "backends", "ir", "kernels"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".h", ".cpp", ".def", ".inc", ".hpp"}


def check(root: pathlib.Path) -> tuple[int, list[str]]:
    """Returns the number of includes read and the violations found below `root`."""
    count, errors = 0, []
    for room, allowed in ALLOWED.items():
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                count += 1
                included = pathlib.PurePosixPath(match.group(1))
                where = f"{path.relative_to(root)}:{number}"
                if len(included.parts) > 1 and included.parts[0] in ALLOWED:
                    if included.parts[0] not in allowed:
                        errors.append(f"{where}: {room} must not include {included}")
                    if passes_reach_native(room, included):
                        errors.append(f"{where}: a pass asks the backend it was given, not {included}")
                    if included.stem.endswith("Detail") and (root / included).parent not in [path.parent, *path.parents]:
                        errors.append(f"{where}: {included} is private to its folder")
                elif (path.parent / included).exists():
                    errors.append(f"{where}: includes are written from the root, got {included}")
    return count, errors


def passes_reach_native(room: str, included: pathlib.PurePosixPath) -> bool:
    return room == "passes" and included.parts[:2] == ("backends", "native") and included.suffix != ".def" \
        and included.name != "Lowering.h"


def self_test(tmp: pathlib.Path) -> None:
    """The check must be able to fail: an include that runs up is found."""
    (tmp / "ir").mkdir(parents=True)
    (tmp / "ir" / "Bad.h").write_text('#include "passes/Pass.h"\n', encoding="utf-8")
    for room in ALLOWED:
        (tmp / room).mkdir(exist_ok=True)
    assert check(tmp)[1] == ["ir/Bad.h:1: ir must not include passes/Pass.h"]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        self_test(pathlib.Path(scratch))
    total, problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or f"{total} includes, no arrow runs up")
    sys.exit(1 if problems or total < 50 else 0)
