"""The case format of test/golden/quantized: portable inputs, graph texts, PyTorch's results and the near ties.

A case is a .qfx graph, its inputs and weights (made by `generate`, which test/operators/QuantizedCases.cpp repeats) and what
PyTorch gives.  Level T0: all codes equal; T1: a code may differ by one where `ties` lists its position, the unrounded value in
double precision lying within 1e-4 of a tie; T2: floats within 1e-5 of the largest magnitude (operators.md 1.1).
"""
import json
import math
import os

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {"quint8": (torch.quint8, 0, 255, torch.uint8), "qint8": (torch.qint8, -128, 127, torch.int8),
          "qint32": (torch.qint32, -2 ** 31, 2 ** 31 - 1, torch.int32)}
FORMATS = {"channels_last": torch.channels_last, "channels_last_3d": torch.channels_last_3d}
MASK = (1 << 64) - 1


def splitmix(seed, count):
    """Outputs 1..count of splitmix64 for the state `seed`, as in docs/IR.md."""
    z = (np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def generate(spec, shape):
    """int64 or float32 array.  `i lo hi`: integers; `x a b c ...`: one of these; `f lo hi`: floats; `n`: 0, 1, 2, ... times a step."""
    kind, args, seed = spec["kind"], spec["args"], spec["seed"]
    count = math.prod(shape)
    with np.errstate(over="ignore"):
        high = (splitmix(seed, count) >> np.uint64(40)).astype(np.int64)
    if kind == "i":
        values = args[0] + (high * (args[1] - args[0] + 1) >> 24)
    elif kind == "x":
        values = np.array(args, dtype=np.int64)[high * len(args) >> 24]
    elif kind == "f":
        values = (args[0] + (args[1] - args[0]) * (high.astype(np.float64) * 2.0 ** -24)).astype(np.float32)
    elif kind == "n":
        values = args[0] + np.arange(count, dtype=np.int64) * args[1] % args[2]
    else:
        raise ValueError(kind)
    return values.reshape(shape)


def number(value):
    return repr(float(value))


class Input:
    """A generated tensor: float32, int32, int64, or quantized per tensor (scale, zero_point) or per channel (lists and axis)."""

    def __init__(self, shape, dtype="quint8", scale=None, zero_point=None, axis=None, spec=None, seed=1, form=None):
        self.shape, self.dtype, self.axis, self.form = list(shape), dtype, axis, form
        self.scale, self.zero_point = scale, zero_point
        if spec is None:
            spec = ("i", DTYPES[dtype][1], DTYPES[dtype][2]) if dtype in DTYPES else ("f", -1.0, 1.0)
        self.spec = {"kind": spec[0], "args": list(spec[1:]), "seed": seed}

    def text(self):
        names = {"f32": "f32", "i64": "i64", "i32": "i32"}
        inner = []
        if self.dtype in DTYPES:
            if self.axis is None:
                inner.append("scale=%s, zero_point=%d" % (number(self.scale), self.zero_point))
            else:
                zeros = ", ".join(number(z) if isinstance(z, float) else str(z) for z in self.zero_point)
                inner.append("axis=%d, scales=[%s], zero_points=[%s]" % (self.axis, ", ".join(map(number, self.scale)), zeros))
        if self.form:
            inner.append("format=" + self.form)
        return "%s[%s]%s" % (names.get(self.dtype, self.dtype), ", ".join(map(str, self.shape)),
                             "{%s}" % ", ".join(inner) if inner else "")

    def values(self):
        return generate(self.spec, self.shape)

    def tensor(self):
        values = self.values()
        if self.dtype == "f32":
            result = torch.from_numpy(values)
        elif self.dtype in ("i64", "i32"):
            result = torch.from_numpy(values.astype(np.int64 if self.dtype == "i64" else np.int32))
        else:
            codes = torch.from_numpy(values).to(DTYPES[self.dtype][3])
            if self.axis is None:
                result = torch._make_per_tensor_quantized_tensor(codes, self.scale, self.zero_point)
            elif isinstance(self.zero_point[0], float):
                result = torch._make_per_channel_quantized_tensor(codes, torch.tensor(self.scale), torch.tensor(self.zero_point), self.axis)
            else:
                result = torch._make_per_channel_quantized_tensor(
                    codes, torch.tensor(self.scale, dtype=torch.float64), torch.tensor(self.zero_point), self.axis)
        if self.form:
            result = result.contiguous(memory_format=FORMATS[self.form])
        return result

    def real(self):
        """The real values in double precision, with the float32 scale that kernels see."""
        values = self.values().astype(np.float64)
        if self.dtype not in DTYPES:
            return values
        if self.axis is None:
            return (values - self.zero_point) * float(np.float32(self.scale))
        view = [1] * len(self.shape)
        view[self.axis] = -1
        return (values - np.reshape(self.zero_point, view)) * np.float32(self.scale).astype(np.float64).reshape(view)


class Golden:
    def __init__(self):
        self.cases, self.blob, self.names, self.report = [], bytearray(), set(), []

    def add(self, name, level, body, inputs, function, weights=(), model=None, engine="x86", ordered=True):
        """One case.  `body`: graph lines over %x0, %x1, ... and get_attr of w0, w1, ...; `model`: real results in double for T1."""
        assert name not in self.names, name
        self.names.add(name)
        torch.backends.quantized.engine = engine
        tensors = [x.tensor() for x in inputs]
        constants = [w.tensor() for w in weights]
        try:
            with torch.no_grad():
                results = function(*tensors, *constants)
        except (RuntimeError, NotImplementedError) as refusal:  # PyTorch has no kernel for it: no case
            self.report.append("%s: refused by PyTorch: %s" % (name, str(refusal).splitlines()[0][:100]))
            return
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        case = {"name": name, "level": level, "engine": engine, "body": body,
                "inputs": [{"type": x.text(), **x.spec} for x in inputs],
                "weights": [{"type": w.text(), **w.spec} for w in weights], "outputs": []}
        reals = model(*[x.real() for x in inputs], *[w.real() for w in weights]) if model else None
        for i, result in enumerate(results):
            output = {"offset": len(self.blob), "shape": list(result.shape)}
            if result.is_quantized:
                output["dtype"] = str(result.dtype).replace("torch.", "")
                output["scale"], output["zero_point"] = result.q_scale(), result.q_zero_point()
                codes = result.int_repr().contiguous().numpy()
                self.blob += codes.tobytes()
                if level == "T1":
                    output["ties"] = self.near_ties(name, reals if i == 0 else None, result, codes)
            else:
                output["dtype"] = {torch.float32: "f32", torch.int64: "i64", torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8",
                                   torch.int32: "i32"}[result.dtype]
                self.blob += result.contiguous().numpy().tobytes()
            case["outputs"].append(output)
        self.cases.append(case)

    def near_ties(self, name, real, result, codes):
        """Positions where rounding could go either way; PyTorch's other codes must be the model's."""
        info = DTYPES[str(result.dtype).replace("torch.", "")]
        steps = np.broadcast_to(np.asarray(real), codes.shape) / float(np.float32(result.q_scale()))
        expected = np.clip(np.rint(steps) + result.q_zero_point(), info[1], info[2])
        near = np.abs(np.abs(steps - np.trunc(steps)) - 0.5) < 1e-4
        wrong = (expected != codes) & ~near
        if wrong.any():
            self.report.append("%s: PyTorch differs from the double model at %d of %d codes" % (name, wrong.sum(), codes.size))
        return np.flatnonzero(near).tolist()

    def write(self):
        with open(os.path.join(HERE, "cases.json"), "w") as file:
            file.write('{"torch": "%s", "cases": [\n' % torch.__version__)
            file.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in self.cases))
            file.write("\n]}\n")
        with open(os.path.join(HERE, "cases.bin"), "wb") as file:
            file.write(self.blob)
        print(len(self.cases), "cases,", len(self.blob), "bytes of results")
        print("\n".join(self.report))
