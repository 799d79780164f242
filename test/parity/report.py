"""The tables of the parity tests as Markdown: graphs, numbers and integers, own calibration, what differs."""

NUMBERS = [
    "* **parameters**: scales to six digits and zero points exactly, activations and weights.",
    "* **operators**: quantized operators whose output integers, on PyTorch's input integers, equal PyTorch's bit for bit;"
    " those of level T1 (spec/operators.md 1.1) may have single codes one step off at ties; counted apart are operators whose only"
    " differing codes are those in which PyTorch's sums saturate (below).",
    "* **values in a run**: quantized values of a whole run on one input that equal PyTorch's bit for bit; behind a saturated or tied code"
    " they may differ.",
    "* **outputs**: int8 output values within one output step (99 % asked for), from PyTorch's input codes:"
    " its quantize_per_tensor breaks exact ties otherwise (docs/Differences.md). Left out are images in which PyTorch's own sums"
    " saturate in 16 bits (processors without VNNI, spec/operators.md 25.3): each of its codes that is not exact was recomputed with"
    " saturating pairs and found equal (saturation.py); and images that leave PyTorch's codes at ties: each first differing code"
    " is one step off and its unrounded value lies within 1e-4 of a step from the tie (ties.py). **left out** counts both kinds, in brackets"
    " the share with them.",
    "* **float error**: float outputs' largest error over the largest output (1e-4 asked for, or twice PyTorch's own against the"
    " same model in double, where a random network enlarges rounding beyond that).",
]
COLUMNS = ("network", "float text", "fused text", "prepared text", "reference text", "converted text", "parameters", "operators",
           "values in a run", "int8 outputs", "left out: saturated, tied", "float error")


def heading(about, isa, script):
    """The first lines: what wrote this, with which versions. `about` is an about.json of record.py."""
    return ["# Parity with torch.ao.quantization", "",
            "Written by `test/parity/%s`: PyTorch %s, engine %s, default qconfig mapping, x86 BackendConfig, seed %d;"
            " CPU %s; qfx on %s." % (script, about["torch"], about["engine"], about["seed"], about["cpu"], isa), ""]


def markdown_table(columns, rows):
    """Lines of a table; each row is a list of texts."""
    return ["| %s |" % " | ".join(columns), "|%s" % ("---|" * len(columns))] + ["| %s |" % " | ".join(row) for row in rows]


def own_calibration(rows):
    """The section on qfx's own calibration."""
    return [
        "", "## Own calibration", "",
        "Two float implementations differ in the last bits, and the histogram search turns a last bit into another bin now"
        " and then. *PyTorch itself* is the same calibration by PyTorch with its own convolutions instead of oneDNN's.", "",
        "* **scales**: activation parameters equal to PyTorch's, scale to six digits and zero point exactly.",
        "* **observers**: those whose histogram, range, scale and zero point are, bit for bit, what PyTorch's observer makes"
        " of the activations that qfx computed. All must be: what is left is float rounding alone.",
        "* **outputs**: int8 output values within one output step of the first PyTorch calibration's.", "",
    ] + markdown_table(("network", "scales", "PyTorch itself", "observers", "outputs", "PyTorch itself"),
                       [[row.network] + row.own for row in rows])


def differences(rows):
    """Allowed differences with their reasons, then everything that should not differ."""
    reasons = sorted({reason for row in rows for reason in row.reasons})
    lines = [""] + (["Allowed differences (allowed.txt) and ties:", ""] + ["* " + r for r in reasons] if reasons else
                    ["No allowed difference was needed."])
    failing = [row for row in rows if row.problems]
    if failing:
        lines += ["", "## What differs"]
        for row in failing:
            lines += ["", "**%s**" % row.network, ""] + ["* " + problem for problem in row.problems]
    return lines


def results(rows, about, isa):
    """RESULTS.md: everything about the networks of run.sh."""
    lines = heading(about, isa, "run.sh") + [
        "## Graphs, numbers and integers", "",
        "* **texts**: `--emit=fx` of the phase against `str(graph)`, line by line, with qfx's own calibration.",
        "* The other columns start from PyTorch's observer statistics (`--load-observers`).",
    ] + NUMBERS + [""] + markdown_table(COLUMNS, [[row.network] + row.cells for row in rows])
    return "\n".join(lines + own_calibration(rows) + differences(rows)) + "\n"


def networks(rows, about, isa, families):
    """NETWORKS.md: the wide table; `families` says of each network what it stands for."""
    lines = heading(about, isa, "networks.py") + [
        "Seeded random weights, batch-norm statistics of one seeded batch, the smallest images that a network permits (subjects.py).", "",
        "* **texts**: `--emit=fx` of the phase against `str(graph)`, line by line.",
        "* All numbers start from PyTorch's observer statistics (`--load-observers`).",
    ] + NUMBERS + [""] + markdown_table(("network", "what") + COLUMNS[1:],
                                        [[row.network, families[row.network]] + row.cells for row in rows])
    return "\n".join(lines + differences(rows)) + "\n"
