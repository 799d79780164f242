"""One graph that runs every quantized operator of a lowered model on PyTorch's own integers.

A whole run tells where the first difference is; behind it everything may differ. Here each operator gets recorded
input codes (as exact floats through quantize_per_tensor) and gives its output codes, independent of all others.
"""
import re

import numpy

REFERENCE = re.compile(r"%(\w+)")


class Statement:
    """One node line of a .qfx graph; `declared` is the class of the module that it calls, with its attributes."""

    def __init__(self, name, op, target, args, declared=""):
        self.name, self.op, self.target, self.args, self.declared = name, op, target, args, declared

    def uses(self):
        return REFERENCE.findall(_without_strings(self.args))

    def text(self, rename):
        args = REFERENCE.sub(lambda m: "%" + rename.get(m.group(1), m.group(1)), self.args)
        return "  %%%s = %s[%s](%s)" % (self.name, self.op, self.target, args)


def _without_strings(text):
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def parse_statements(text):
    """(declaration lines, statements) of .qfx text as qfx-opt prints it."""
    head, _, body = text.partition("\ngraph(")
    modules = dict(re.findall(r"^module (\S+) : (.+)$", head, re.MULTILINE))
    statements = []
    for line in body.splitlines()[1:]:
        match = re.match(r"^  %(\w+) = (\w+)\[([^\]]+)\]\(", line)
        if match:
            end = _closing(line, match.end() - 1)
            name, op, target = match.groups()
            declared = modules.get(target, "") if op == "call_module" else ""
            statements.append(Statement(name, op, target, line[match.end() : end], declared))
    return head.splitlines(), statements


def _closing(line, start):
    """Index of the parenthesis that closes the one at `start`; strings may hold any."""
    depth, quoted, i = 0, False, start
    while i < len(line):
        char = line[i]
        if quoted:
            if char == "\\":
                i += 1
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if not depth:
                return i
        i += 1
    raise ValueError("unbalanced parentheses: %s" % line)


def get_targets(text):
    """{node name: what it calls: a function, a method, or the class of a module}."""
    declarations, statements = parse_statements(text)
    classes = dict(re.findall(r"^module (\S+) : ([\w.]+)\(", "\n".join(declarations), re.MULTILINE))
    return {s.name: classes.get(s.target, "") if s.op == "call_module" else s.target for s in statements}


def build(text, recorded):
    """(replay text, {placeholder: float array}, names of the operators that run).

    `text` is the lowered model; `recorded` maps node names to Quantized values (see recordings.py). Left out are operators
    whose arguments are computed numbers, such as a view by size(): they move codes, the whole run checks them.
    """
    declarations, statements = parse_statements(text)
    by_name = {s.name: s for s in statements}
    constants, inputs, body, chosen = [], {}, [], []

    def is_constant(name):
        return name in by_name and by_name[name].op == "get_attr"

    for statement in statements:
        value = recorded.get(statement.name)
        if value is None or value.scale is None or "quantize_per_tensor" in statement.target:
            continue
        uses = statement.uses()
        tensors = [u for u in uses if not is_constant(u)]
        if not tensors or any(recorded.get(u) is None or recorded[u].scale is None for u in tensors):
            continue
        for use in uses:
            if is_constant(use) and use not in constants:
                constants.append(use)
            elif not is_constant(use):
                inputs["in_" + use] = recorded[use]
        rename = {u: "q_" + u for u in tensors}
        body.append(statement.text(rename))
        body.append("  %%d_%s = call_method[dequantize](%%%s)" % (statement.name, statement.name))
        chosen.append(statement.name)
    header = ", ".join("%%%s : f32[%s]" % (n, ", ".join(map(str, v.codes.shape))) for n, v in inputs.items())
    quantize = []
    for name, value in inputs.items():
        # Behind a convolution PyTorch's images are channels-last, and pooling rounds by that.
        image = value.codes.ndim == 4
        quantize.append("  %%%s_%s = call_function[torch.quantize_per_tensor](%%%s, %r, %d, torch.%s)" % (
            "n" if image else "q", name[3:], name, value.scale, value.zero_point, value.dtype))
        if image:
            quantize.append("  %%q_%s = call_method[contiguous](%%n_%s, memory_format=torch.channels_last)" % (
                name[3:], name[3:]))
    lines = declarations + ["graph(%s) {" % header] + quantize
    lines += [by_name[name].text({}) for name in constants] + body
    lines += ["  return {%s}" % ", ".join('"%s": %%d_%s' % (name, name) for name in chosen), "}"]
    floats = {
        name: ((v.codes.astype(numpy.int64) - v.zero_point).astype(numpy.float32) * numpy.float32(v.scale))
        for name, v in inputs.items()
    }
    return "\n".join(lines) + "\n", floats, chosen
