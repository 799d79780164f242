"""Writes test/golden/transformer: a small encoder exported by torch.export with a dynamic sequence length, and what PyTorch's dynamic int8
model gives for sentences of three lengths (test/passes/dynamic-transformer.test).

Run with the venv that has torch:  python test/golden/make_transformer.py
float.qfx has the inputs' symbolic sizes; expected-<engine>-<length>.qfx takes the same inputs and returns PyTorch's result, so that
`qfx-run --compare` can hold one against the other; inputs-<length>.safetensors are the inputs.
"""
import copy
import os
import shutil
import sys

import torch
import torch.ao.quantization as ao
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "transformer")
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "export"))
import qfx_export  # noqa: E402

SEED, WIDTH, HEADS, LENGTHS = 3, 32, 4, (1, 7, 12)


class Layer(torch.nn.Module):
    """Attention and a feed-forward part, each with a residual and a norm behind it."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(3 * WIDTH, WIDTH)
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)

    def forward(self, x, mask):
        n, s = x.shape[0], x.shape[1]
        heads = lambda y: y.view(n, s, HEADS, WIDTH // HEADS).transpose(1, 2)
        y = torch.nn.functional.scaled_dot_product_attention(heads(self.query(x)), heads(self.key(x)), heads(self.value(x)), attn_mask=mask)
        x = self.norm1(x + self.out(y.transpose(1, 2).reshape(n, s, WIDTH)))
        return self.norm2(x + self.down(torch.nn.functional.gelu(self.up(x))))


class Encoder(torch.nn.Module):
    """ids, mask i64 [N, S] -> f32 [N, S, 32]: embeddings of tokens and of positions (a slice up to S), then two layers."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(40, WIDTH), torch.nn.Embedding(16, WIDTH)
        self.register_buffer("positions", torch.arange(16).unsqueeze(0))
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, ids, mask):
        n, s = ids.shape
        x = self.tokens(ids) + self.places(self.positions[:, :s])
        keep = mask.to(torch.bool)[:, None, None, :].expand(n, 1, s, s)
        for layer in self.layers:
            x = layer(x, keep)
        return x


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    model = Encoder().eval()
    example = (torch.randint(0, 40, (2, 9)), torch.ones(2, 9, dtype=torch.int64))
    dims = {"ids": {1: "S"}, "mask": {1: "S"}}
    qfx_export.export(model, example, os.path.join(OUT, "float.qfx"), trace="export", dynamic_dims=dims)
    models = {"float": model}
    for engine in ("x86", "qnnpack"):
        torch.backends.quantized.engine = engine
        models[engine] = ao.quantize_dynamic(copy.deepcopy(model), {torch.nn.Linear}, dtype=torch.qint8)
    for length in LENGTHS:
        ids = torch.randint(0, 40, (2, length))
        mask = torch.ones(2, length, dtype=torch.int64)
        mask[1, (length + 1) // 2 + 1:] = 0
        save_file({"ids": ids, "mask": mask}, os.path.join(OUT, "inputs-%d.safetensors" % length))
        for name, quantized in models.items():
            if name != "float":
                torch.backends.quantized.engine = name
            with torch.no_grad():
                result = quantized(ids, mask)
            stem = "expected-%s-%d" % (name, length)
            save_file({"e": result.contiguous()}, os.path.join(OUT, stem + ".safetensors"), {"torch": torch.__version__, "seed": str(SEED)})
            with open(os.path.join(OUT, stem + ".qfx"), "w") as file:
                file.write("qfx 1\nweights \"%s.safetensors\"\nparameter e : f32[2, %d, %d]\n"
                           "graph(%%ids : i64[2, %d], %%mask : i64[2, %d]) {\n  %%e = get_attr[e]()\n  return %%e\n}\n"
                           % (stem, length, WIDTH, length, length))


if __name__ == "__main__":
    main()
