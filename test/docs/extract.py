"""Writes the fenced blocks of one language in a Markdown page, one after another, as one file: extract.py PAGE LANGUAGE OUTPUT.

Each block is preceded by a #line directive, so that a compiler's message points into the page.
"""
import sys


def blocks(lines, language):
    """(line number of its first line, text) of each fenced block."""
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and line.strip() == "```" + language:
            start = number + 1
        elif start is not None and line.strip() == "```":
            yield start, "".join(lines[start - 1:number - 1])
            start = None


def main():
    page, language, output = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        lines = file.readlines()
    found = list(blocks(lines, language))
    if not found:
        sys.exit("%s has no block of '%s'" % (page, language))
    with open(output, "w", encoding="utf-8") as file:
        for number, text in found:
            file.write('#line %d "%s"\n%s\n' % (number, page, text))


if __name__ == "__main__":
    main()
