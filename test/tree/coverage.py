#!/usr/bin/env python3
"""docs/coverage.tsv has every row of the inventory of PyTorch's names, and every symbol and test it names exists.

A place is `FILE#TEXT` (TEXT stands in FILE as a whole word; in a .def file also as an argument of a row, its macros expanded), a FILE, or a
command `qfx-opt --flag` (the flag stands in a source of that tool). Several places are separated by `; `. `pending` in both columns: not done.
"""
import pathlib
import re
import sys
import tempfile

import tables

HEADER = ["section", "name", "where in qfx", "test"]
PENDING = "pending"


def read_table(path: pathlib.Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


class Tree:
    """Files of the repository, read once."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.texts: dict[pathlib.Path, str] = {}
        self.rows: dict[pathlib.Path, set[str]] = {}

    def read(self, path: pathlib.Path) -> str:
        if path not in self.texts:
            self.texts[path] = path.read_text(encoding="utf-8", errors="replace")
        return self.texts[path]

    def has_row(self, path: pathlib.Path, text: str) -> bool:
        """Whether a row of a table has `text` as an argument."""
        if path not in self.rows:
            self.rows[path] = {value for _, row in tables.read_rows(path) for value in row}
        return text in self.rows[path]

    def find_problem(self, place: str, below: str) -> str:
        """What is wrong with a place, or nothing. `below`: the folder that its file must lie in."""
        if place.startswith(("qfx-opt --", "qfx-run --", "qfx-bench --")):
            tool, flag = place.split(" ")[0], place.split(" ")[1].split("=")[0].lstrip("-")
            sources = (path for folder in (tool[len("qfx-"):], "common") for path in (self.root / "tools" / folder).rglob("*.cpp"))
            return "" if any(f'"{flag}' in self.read(path) or f"--{flag}" in self.read(path) for path in sources) else f"{tool} has no flag --{flag}"
        name, _, text = place.partition("#")
        path = self.root / name
        if not name or not path.is_file() or not name.startswith(below):
            return f"no file '{name}'" + (f" below {below}" if below else "")
        if text and not re.search(r"(?<!\w)" + re.escape(text) + r"(?!\w)", self.read(path)):
            if path.suffix != ".def" or not self.has_row(path, text):
                return f"'{text}' does not stand in {name}"
        return ""


def check(root: pathlib.Path, inventory: list[list[str]], coverage: list[list[str]]) -> list[str]:
    """A line per problem."""
    problems = []
    if not coverage or coverage[0] != HEADER:
        problems.append("docs/coverage.tsv: the first line names the columns: " + ", ".join(HEADER))
    keys = [tuple(row[:2]) for row in coverage[1:]]
    wanted = [tuple(row[:2]) for row in inventory[1:]]
    problems += [f"docs/coverage.tsv: no row for {section} {name}" for section, name in wanted if (section, name) not in keys]
    problems += [f"docs/coverage.tsv: {' '.join(key)} is not in the inventory" for key in keys if key not in wanted]
    if not problems and keys != wanted:
        problems.append("docs/coverage.tsv: rows stand in another order than in the inventory, or twice")
    tree = Tree(root)
    for line, row in enumerate(coverage[1:], 2):
        place = f"docs/coverage.tsv:{line}: {' '.join(row[:2])}: "
        if len(row) != len(HEADER) or not all(row):
            problems.append(place + "expected four filled columns")
        elif PENDING in row[2:]:
            if row[2] != row[3]:
                problems.append(place + "pending in one column only")
        else:
            for column, below in ((2, ""), (3, "t")):  # test/..., tools/.../tests/...
                for item in row[column].split("; "):
                    if problem := tree.find_problem(item, below):
                        problems.append(place + problem)
                    elif column == 3 and not (item.startswith("test/") or "/tests/" in item):
                        problems.append(place + f"'{item}' is no test")
    return problems


def self_test(root: pathlib.Path) -> None:
    """The check must be able to fail."""
    for folder in ("docs", "ir", "test", "tools/opt"):
        (root / folder).mkdir(parents=True)
    (root / "ir/Ops.def").write_text('#define QFX_BOTH(d) QFX_OP("Conv" #d)\nQFX_BOTH(1d)\n', encoding="utf-8")
    (root / "test/a.cpp").write_text('TEST_CASE("one thing") {}\n', encoding="utf-8")
    (root / "tools/opt/qfx-opt.cpp").write_text('"check"\n', encoding="utf-8")
    names = [["section", "name"]] + [["s", name] for name in "abcdefg"]
    rows = [HEADER, ["s", "a", "ir/Ops.def#Conv1d", "test/a.cpp#one thing"], ["s", "b", PENDING, PENDING],
            ["s", "c", "qfx-opt --check=FILE", "test/a.cpp"], ["s", "d", "ir/Ops.def#Conv2d", "test/a.cpp"],
            ["s", "e", "qfx-opt --checks", "test/a.cpp#other"], ["s", "f", "ir/Ops.h", PENDING], ["s", "h", "ir/Ops.def", "tools/opt/qfx-opt.cpp"]]
    found = [problem.replace("docs/coverage.tsv:", "") for problem in check(root, names, rows)]
    assert found == [" no row for s g", " s h is not in the inventory", "5: s d: 'Conv2d' does not stand in ir/Ops.def",
                     "6: s e: qfx-opt has no flag --checks", "6: s e: 'other' does not stand in test/a.cpp",
                     "7: s f: pending in one column only", "8: s h: 'tools/opt/qfx-opt.cpp' is no test"], found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        self_test(pathlib.Path(scratch))
    source = pathlib.Path(sys.argv[1])
    lines = read_table(source / "docs/coverage.tsv")
    found = check(source, read_table(source / "test/tree/inventory.tsv"), lines)
    print("\n".join(found) or f"{len(lines) - 1} rows, {sum(PENDING in row for row in lines)} pending")
    sys.exit(1 if found else 0)
