#!/usr/bin/env python3
"""Every row of every table has its test: rows are read from the .def files, tests looked up below test/."""
import pathlib
import re
import sys
import tempfile

DEFINE = re.compile(r"#\s*define\s+(\w+)(\(([^)]*)\))?[ \t]*(.*)")
TEXT_SUFFIXES = {".qfx", ".test", ".cpp", ".h", ".py", ".json", ".txt", ".sh"}


def split_arguments(text: str) -> list[str]:
    """The comma-separated arguments of a macro call; commas in brackets and strings do not count."""
    parts, depth, current, in_string, escaped = [], 0, "", False, False
    for char in text:
        if in_string:
            in_string, escaped = (not (char == '"' and not escaped), char == "\\" and not escaped)
        elif char == '"':
            in_string = True
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += char
    return [*parts, current.strip()]


def find_calls(text: str):
    """Yields (name, argument text) of every macro call QFX_...(...) in `text`, those within another's arguments left out."""
    end = 0
    for match in re.finditer(r"\b(QFX_\w+)\(", text):
        if match.start() < end:
            continue
        depth, end, in_string = 1, match.end(), False
        while end < len(text) and depth:
            in_string ^= text[end] == '"' and text[end - 1] != "\\"
            depth += 0 if in_string else (text[end] == "(") - (text[end] == ")")
            end += 1
        yield match.group(1), text[match.end():end - 1]


def read_rows(path: pathlib.Path) -> list[tuple[str, list[str]]]:
    """The rows of a .def file as (macro, arguments), its local macros expanded and adjacent strings joined."""
    lines = path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    macros: dict[str, tuple[list[str], str]] = {}
    words: dict[str, str] = {}
    rows: list[tuple[str, list[str]]] = []

    def expand(text: str) -> None:
        for name, arguments in find_calls(text):
            values = split_arguments(arguments)
            if name in macros:
                parameters, body = macros[name]
                for parameter, value in zip(parameters, values):
                    body = re.sub(r"\s*##\s*" + parameter + r"\b|\b" + parameter + r"\s*##\s*", lambda _: value, body)
                    body = re.sub(r"#" + parameter + r"\b", lambda _: '"' + value + '"', body)
                    body = re.sub(r"\b" + parameter + r"\b(?=[^\"]*(\"[^\"]*\"[^\"]*)*$)", lambda _: value, body)
                expand(body)
            else:
                rows.append((name, [join_strings(value, words) for value in values]))

    text = ""
    for line in lines:
        match = DEFINE.match(line)
        if match and match.group(2) is not None and match.group(4) and "..." not in match.group(3):
            expand(text)
            text = ""
            macros[match.group(1)] = ([word.strip() for word in match.group(3).split(",")], match.group(4))
        elif match and match.group(4):
            words[match.group(1)] = match.group(4)
        elif not line.lstrip().startswith(("#", "//")):
            text += line + "\n"
    expand(text)
    return rows


def join_strings(value: str, words: dict[str, str]) -> str:
    """`NN "Linear"` is torch.nn.Linear; anything but strings and string macros stays as it is."""
    pieces = re.findall(r'"(?:\\.|[^"\\])*"|\w+', value)
    texts = [words.get(piece, piece) for piece in pieces]
    if '"' in value and all(text.startswith('"') for text in texts):
        return "".join(text[1:-1] for text in texts)
    return value.strip('"') if value.count('"') == 2 and value.startswith('"') else value


def snake_case(name: str) -> str:
    """FX's spelling of a class name: MaxPool2d is max_pool2d."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


class Tests:
    """The texts of the test files below a folder, read once."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.texts: dict[str, str] = {}
        self.joined: dict[tuple[str, ...], str] = {}
        self.words: dict[tuple[str, ...], set[str]] = {}
        for path in sorted((root / "test").rglob("*")):
            if path.suffix in TEXT_SUFFIXES and path.is_file() and "parity" not in path.parts and path.name != "tables.py":
                self.texts[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8", errors="replace")

    def join(self, folders: tuple[str, ...]) -> str:
        """All texts below `folders`."""
        if folders not in self.joined:
            self.joined[folders] = "\n".join(text for name, text in self.texts.items() if name.startswith(folders or ("test/",)))
        return self.joined[folders]

    def mention(self, pattern: str, *folders: str) -> bool:
        """Whether a line of a test below one of `folders` matches the regular expression."""
        return re.search(pattern, self.join(folders)) is not None

    def contain(self, name: str, *folders: str) -> bool:
        """Whether `name` stands anywhere below `folders`."""
        return name in self.join(folders)

    def spell(self, name: str, *folders: str) -> bool:
        """Whether `name` stands below `folders` as a whole dotted word."""
        if folders not in self.words:
            self.words[folders] = {word.strip(".") for word in re.findall(r"[\w.]+", self.join(folders))}
        return name in self.words[folders]


def get_spellings(root: pathlib.Path) -> dict[str, list[str]]:
    """Operator kind -> the spellings that reach it."""
    spellings: dict[str, list[str]] = {}
    for path in sorted((root / "ir" / "ops").glob("*.def")):
        for macro, row in read_rows(path):
            if macro == "QFX_OP":
                spellings.setdefault(row[0], [])
            elif macro in ("QFX_FUNCTION", "QFX_METHOD", "QFX_MODULE"):
                spellings.setdefault(row[0], []).append(row[1])
    return spellings


def check_operators(root: pathlib.Path, tests: Tests):
    for path in sorted((root / "ir" / "ops").glob("*.def")):
        for macro, row in read_rows(path):
            if macro == "QFX_OP":
                file = f"test/ir/ops/{snake_case(row[0])}.qfx"
                yield path, row[0], file in tests.texts, file


# Cases that are run and compared with numbers of PyTorch: what stands in their data (not in the scripts that make it) is executed.
GOLDEN_RUNS = ("test/golden/runtime/", "test/golden/float_ops/", "test/golden/float_layers/", "test/golden/quantized/", "test/golden/graphs/",
               "test/golden/recurrent/", "test/golden/quantizable/", "test/golden/weight_only/", "test/golden/flow/", "test/golden/imported/",
               "test/golden/observers/", "test/golden/writes/", "test/operators/worked_cases.txt")


def is_run(name: str, text: str) -> bool:
    """Is what stands in this test executed?  Data of golden runs, C++ tests of the runtime and the operators, lit tests that call qfx-run or calibrate."""
    if name.startswith(GOLDEN_RUNS):
        return not name.endswith(".py")
    if name.startswith(("test/operators/", "test/unit/backends/runtime/")):
        return True
    return name.startswith(("test/passes/", "test/tools/")) and re.search(r"RUN:.*(qfx-run|--calibrate|--compare)", text) is not None


def check_runtime_kernels(root: pathlib.Path, tests: Tests):
    """A spelling of each operator with a kernel stands in a test that runs it."""
    path = root / "backends" / "runtime" / "Kernels.def"
    spellings = get_spellings(root)
    runs = "\n".join(text for name, text in tests.texts.items() if is_run(name, text))
    words = {word.strip(".") for word in re.findall(r"[\w.]+", runs)}
    for _, row in read_rows(path) if path.exists() else []:
        yield path, row[0], any(name in words for name in spellings.get(row[0], [])), "a spelling in a test that runs it (is_run)"


def check_passes(root: pathlib.Path, tests: Tests):
    path = root / "passes" / "Passes.def"
    for macro, row in read_rows(path) if path.exists() else []:
        name = row[1] if macro == "QFX_PASS" else row[0]
        pattern = r"RUN:.*(--|-p '?[\w,{}=-]*)" + re.escape(name) + r"(?![\w-])"
        if name.startswith("quantize-"):
            pattern += "|RUN:.*--quantize=" + name[len("quantize-"):]
        yield path, name, tests.mention(pattern, "test/passes"), f"a RUN line with --{name} below test/passes"


def check_kernels(root: pathlib.Path, tests: Tests):
    for path in sorted((root / "kernels").rglob("*Kernels.def")):
        table = path.name[:-len("Kernels.def")]
        pattern = rf"select{table}\((\w+, )?(isa|Isa::\w+)\)|{path.name}|get{table}\w*Rows"
        for _, row in read_rows(path):
            yield path, row[1], tests.mention(pattern, "test/kernels"), f"a test below test/kernels that runs every row of {path.name}"
    for path in sorted((root / "kernels").rglob("*Ops.def")):
        for _, row in read_rows(path):
            kind = path.name[:-len("Ops.def")] + "Kind"
            pattern = rf"{path.name}|{kind}::{row[0]}\b|k{kind}s|all{kind}s"
            yield path, row[0], tests.mention(pattern, "test/kernels"), f"{kind}::{row[0]} in a test below test/kernels"


def check_names(root: pathlib.Path, tests: Tests):
    """Tables whose row is tested where its name stands: (file, column, as a whole word, folders)."""
    tables = [
        ("ir/emit/Emit.def", 1, False, ["test/tools"]),
        ("ir/DType.def", 1, True, ["test/ir", "test/unit/ir"]),
        ("ir/ReservedNames.def", 0, True, ["test/golden/names", "test/unit/ir/NamespaceTest.cpp"]),
        ("ir/emit/PythonOperators.def", 0, False, ["test/unit/ir", "test/golden/fx_text", "test/ir"]),
        ("backends/observe/Observers.def", 0, False, ["test/unit/backends/observe", "test/golden/observers", "test/unit/passes"]),
        ("backends/config/ObserverAliases.def", 0, True, ["test/unit/backends", "test/golden/observers"]),
        ("backends/config/QConfigAliases.def", 0, True, ["test/unit/backends", "test/golden/observers"]),
        ("backends/config/DefaultQConfigs.def", 0, True, ["test/unit/backends", "test/golden/observers"]),
        ("backends/config/ConfigCodes.def", 1, False, ["test/golden/backend_configs", "test/golden/qconfigs", "test/unit/backends/config", "test/passes/prepare"]),
        ("backends/config/FuserMethods.def", 1, True, ["test/unit", "test/passes/fuse"]),
        ("ir/FusedClasses.def", 0, True, ["test/unit/passes", "test/passes"]),
        ("backends/native/Lowering.def", 1, True, ["test/passes", "test/unit/passes"]),
    ]
    known = {spelling for all_of in get_spellings(root).values() for spelling in all_of}
    for file, column, whole, folders in tables:
        path = root / file
        for _, row in read_rows(path) if path.exists() else []:
            if column < len(row):
                name = row[column]
                if file == "ir/emit/PythonOperators.def" and "operator." + name not in known:
                    continue  # written in Python, not in the operator table: no graph has it
                wanted = {"ir/emit/Emit.def": "--emit=" + name, "ir/emit/PythonOperators.def": "operator." + name,
                          "backends/observe/Observers.def": name.rsplit(".", 1)[-1]}.get(file, name)
                found = tests.spell(wanted, *folders) if whole else tests.contain(wanted, *folders)
                yield path, name, found, f"'{wanted}' below " + ", ".join(folders)


def check_error_codes(root: pathlib.Path, tests: Tests):
    """The numbered rules of docs/IR.md; `<op>_<rule>` stands for the checks of each operator, tested beside it."""
    path = root / "docs" / "IR.md"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        if line.startswith("| `"):
            for code in re.findall(r"`(\w+)`", line.split("|")[1]):
                yield path, code, tests.spell(code, "test/ir", "test/unit", "test/operators", "test/passes", "test/tools", "test/fuzz", "test/kernels"), "its code in a test"


CHECKS = [check_operators, check_runtime_kernels, check_passes, check_kernels, check_names, check_error_codes]


def check(root: pathlib.Path) -> tuple[int, list[str]]:
    """Returns the number of rows read and a line per row without a test."""
    tests = Tests(root)
    count, missing = 0, []
    for rule in CHECKS:
        for path, row, found, expected in rule(root, tests):
            count += 1
            if not found:
                missing.append(f"{path.relative_to(root)}: row '{row}' has no test: expected {expected}")
    return count, missing


def self_test(root: pathlib.Path) -> None:
    """The check must be able to fail: a row without a test is found, one with a test is not, macros are seen through."""
    for folder in ("ir/ops", "test/ir/ops", "test/passes", "kernels/gemm", "passes", "docs"):
        (root / folder).mkdir(parents=True)
    (root / "ir/ops/nn.def").write_text('#define QFX_BOTH(d) \\\n  QFX_OP(Conv##d, "input:T, weight:T", None, infer) \\\n'
                                        '  QFX_MODULE(Conv##d, "torch.nn.Conv" #d, "", "", "")\nQFX_BOTH(1d)\nQFX_BOTH(2d)\n', encoding="utf-8")
    (root / "test/ir/ops/conv1d.qfx").write_text("qfx 1\n", encoding="utf-8")
    (root / "passes/Passes.def").write_text('QFX_PASS(A, "fold-a", "folds (a, b)", "")\nQFX_PASS(B, "fold", "folds", "")\n', encoding="utf-8")
    (root / "test/passes/a.qfx").write_text("// RUN: qfx-opt %s --fold-a\n", encoding="utf-8")
    (root / "kernels/gemm/GemmKernels.def").write_text("QFX_GEMM(Scalar, gemm_scalar, 1)\n", encoding="utf-8")
    (root / "test/ir/words.qfx").write_text("// a node_order_2 and node_orders\n", encoding="utf-8")
    (root / "backends/runtime").mkdir(parents=True)
    (root / "backends/runtime/Kernels.def").write_text("QFX_KERNEL(Conv1d, Float, bindConv)\nQFX_KERNEL(Conv2d, Float, bindConv)\n", encoding="utf-8")
    (root / "test/passes/run.qfx").write_text("// RUN: qfx-run %s\nmodule m : torch.nn.Conv1d()\n", encoding="utf-8")
    (root / "test/passes/read.qfx").write_text("// RUN: qfx-opt %s\nmodule m : torch.nn.Conv2d()\n", encoding="utf-8")
    (root / "docs/IR.md").write_text("| code | rule |\n| `node_order` | a |\n", encoding="utf-8")
    assert get_spellings(root) == {"Conv1d": ["torch.nn.Conv1d"], "Conv2d": ["torch.nn.Conv2d"]}, get_spellings(root)
    rows = [line.split(" has no test")[0] for line in check(root)[1]]
    assert rows == ["ir/ops/nn.def: row 'Conv2d'", "backends/runtime/Kernels.def: row 'Conv2d'", "passes/Passes.def: row 'fold'", "kernels/gemm/GemmKernels.def: row 'gemm_scalar'",
                    "docs/IR.md: row 'node_order'"], rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        self_test(pathlib.Path(scratch))
    total, problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or f"{total} rows, each has its test")
    sys.exit(1 if problems or total < 500 else 0)
