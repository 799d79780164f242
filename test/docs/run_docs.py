#!/usr/bin/env python3
"""Runs what docs/*.md show: run_docs.py SOURCE BIN [--update].

In each page, in order: a fenced block `json NAME` (or `text NAME`) is written to that file; in a block `console` every line `$ COMMAND` is run by bash in
one folder per page, and the lines below it must be its output (stdout and stderr together), where a line `...` stands for any number of lines and
`...` inside a line for any text. A command that fails must be followed by a line `[exit N]`. Between `<!-- COMMAND -->` and `<!-- end -->` stands
exactly what COMMAND prints; `--update` writes it there.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^<!-- (qfx-\w+ .*?) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)


def matches(expected: list[str], found: list[str]) -> bool:
    """Whether `found` is `expected` with its `...` filled in."""
    if not expected:
        return not found
    if expected[0].strip() == "...":
        return any(matches(expected[1:], found[skip:]) for skip in range(len(found) + 1))
    pattern = ".*".join(re.escape(part) for part in expected[0].rstrip().split("..."))
    return bool(found) and re.fullmatch(pattern, found[0].rstrip()) is not None and matches(expected[1:], found[1:])


def run(command: str, folder: pathlib.Path, env: dict[str, str]) -> tuple[int, list[str]]:
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


def check_page(text: str, folder: pathlib.Path, env: dict[str, str]) -> tuple[int, list[str]]:
    """The number of commands run, and a text per problem."""
    count, problems = 0, []
    blocks = [(match.start(), "fence", match) for match in FENCE.finditer(text)] + [(match.start(), "printed", match) for match in PRINTED.finditer(text)]
    for _, kind, match in sorted(blocks, key=lambda block: block[0]):
        if kind == "printed":
            count += 1
            code, found = run(match.group(1), folder, env)
            if code or found != match.group(2).splitlines():
                problems.append(f"<!-- {match.group(1)} -->: the page differs from what it prints now:\n" + "\n".join(found))
        elif match.group(1) == "console":
            for part in re.split(r"^\$ ", match.group(3), flags=re.MULTILINE)[1:]:
                command, *expected = part.rstrip("\n").splitlines()
                while command.endswith("\\") and expected:
                    command = command[:-1] + expected.pop(0)
                count += 1
                code, found = run(command, folder, env)
                found += [f"[exit {code}]"] if code else []
                if not matches(expected, found):
                    problems.append(f"$ {command}\nexpected:\n" + "\n".join(expected) + "\nfound:\n" + "\n".join(found))
        elif match.group(2):
            (folder / match.group(2)).write_text(match.group(3), encoding="utf-8")
    return count, problems


def update_page(path: pathlib.Path, env: dict[str, str]) -> None:
    """Writes what the commands of `<!-- COMMAND -->` print now."""
    text = path.read_text(encoding="utf-8")
    fresh = PRINTED.sub(lambda match: f"<!-- {match.group(1)} -->\n" + "\n".join(run(match.group(1), path.parent, env)[1]) + "\n<!-- end -->", text)
    if fresh != text:
        path.write_text(fresh, encoding="utf-8")


def self_test() -> None:
    """The check must be able to fail."""
    assert matches(["a", "...", "b...d"], ["a", "x", "y", "b c d"]) and not matches(["a"], ["a", "b"]) and not matches(["a.c"], ["abc"])
    with tempfile.TemporaryDirectory() as name:
        page = "```json f.json\n{}\n```\n```console\n$ cat f.json\n{}\n$ false\n[exit 1]\n$ echo a; \\\necho b\na\nc\n```\n"
        count, problems = check_page(page, pathlib.Path(name), dict(os.environ))
        assert count == 3 and len(problems) == 1 and problems[0].startswith("$ echo a;"), problems


def main() -> int:
    self_test()
    source, bin_folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    env = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "QFX": str(source)}
    total, failed = 0, False
    for path in sorted((source / "docs").glob("*.md")):
        if "--update" in sys.argv[3:]:
            update_page(path, env)
        with tempfile.TemporaryDirectory() as name:
            count, problems = check_page(path.read_text(encoding="utf-8"), pathlib.Path(name), env)
        total += count
        for problem in problems:
            failed = True
            print(f"{path.relative_to(source)}: {problem}\n")
    print(f"{total} commands of docs/*.md run")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
