"""Graph texts compared line by line, with the differences that qfx makes on purpose (allowed.txt)."""
import difflib
import fnmatch
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))


class Allowed:
    """Rows `NETWORK PHASE REGEX # reason`: a differing line (with its - or + in front) that matches the regex in a
    matching network and phase (shell patterns) is no failure."""

    def __init__(self, path=os.path.join(HERE, "allowed.txt")):
        self.rows = []
        with open(path) as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    row, _, reason = line.partition(" # ")
                    network, phase, regex = row.split(None, 2)
                    self.rows.append((network, phase, re.compile(regex.strip()), reason.strip()))

    def reason(self, network, phase, line):
        for row_network, row_phase, regex, reason in self.rows:
            if fnmatch.fnmatch(network, row_network) and fnmatch.fnmatch(phase, row_phase) and regex.search(line):
                return reason
        return None


def compare(network, phase, expected, found, allowed):
    """(differing lines that are not allowed, reasons of those that are). `-` is PyTorch's line, `+` is ours."""
    lines = difflib.unified_diff(expected.rstrip("\n").splitlines(), found.rstrip("\n").splitlines(), lineterm="", n=0)
    failures, reasons = [], []
    for line in lines:
        if line.startswith(("---", "+++", "@@")):
            continue
        reason = allowed.reason(network, phase, line)
        if reason is None:
            failures.append(line)
        elif reason not in reasons:
            reasons.append(reason)
    return failures, reasons
