"""The wide parity test: for each network of subjects.py what PyTorch makes of it (record.py) and whether qfx makes the same (compare.py);
writes NETWORKS.md after each. Exits with 3 where something differs.

    python test/parity/networks.py --build build [--work DIR] [NETWORK...]
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import traceback

import torch

import calibration
import compare
import record
import recordings
import report
import subjects
import texts
from upstream import ENGINE


def brief(problems, folder):
    """Problems for a table: of a tool's failure the first line without this machine's paths, and not what follows from it."""
    kept = []
    for problem in problems:
        if "FileNotFoundError" in problem or "nan" in problem.split():
            continue
        problem = problem.replace(folder + os.sep, "")
        kept.append(problem.splitlines()[0][:400] if "RuntimeError" in problem else problem)
    return kept[:1] if any("RuntimeError" in problem for problem in kept) else kept


def run(name, folder, tools, allowed):
    """One network's row; a network that PyTorch or the exporter cannot take has a row that says so. What `folder` already holds is used."""
    try:
        if not os.path.exists(os.path.join(folder, "about.json")):
            record.record(name, folder, subjects.load(name), control=False, images=True)
    except Exception as error:
        traceback.print_exc()
        return compare.Row.failed(name, "not recorded: %s: %s" % (type(error).__name__, str(error).splitlines()[0]))
    error = json.loads(recordings.read(folder, "about.json")).get("int8_error")
    row = (compare.Row.unrun(name, folder, tools, allowed, error) if error else compare.Row(name, folder, tools, allowed, own=False))
    row.problems = brief(row.problems, folder)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="default: all of subjects.py")
    parser.add_argument("--build", default=os.path.join(compare.HERE, "..", "..", "build"))
    parser.add_argument("--work", help="keeps every network's files in this folder (large); recordings that are there are used again")
    parser.add_argument("-o", "--output", default=os.path.join(compare.HERE, "NETWORKS.md"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    tools = recordings.Tools(*(os.path.join(options.build, "bin", name) for name in ("qfx-opt", "qfx-run")))
    families = {name: subject.family for name, subject in subjects.SUBJECTS.items()}
    allowed, rows = texts.Allowed(), []
    about = {"torch": torch.__version__, "engine": ENGINE, "seed": subjects.SEED, "cpu": record.cpu_name()}
    for name in options.networks or subjects.SUBJECTS:
        folder = os.path.join(options.work, name) if options.work else tempfile.mkdtemp()
        rows.append(run(name, folder, tools, allowed))
        if not options.work:
            shutil.rmtree(folder)
        print("%-20s %s" % (name, "equal" if not rows[-1].problems else "; ".join(rows[-1].problems)), flush=True)
        with open(options.output, "w") as file:
            file.write(report.networks(rows, about, calibration.isa_of(tools.paths["opt"]), families))
    equal = sum(not row.problems for row in rows)
    print("%d of %d networks are equal; wrote %s" % (equal, len(rows), options.output))
    return 0 if equal == len(rows) else 3


if __name__ == "__main__":
    sys.exit(main())
