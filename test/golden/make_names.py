"""Writes test/golden/names/sequence.txt: what torch 2.13's naming makes of a sequence of candidates.

    python test/golden/make_names.py        (torch 2.13, seed 5)

A line is `<candidate>\\t<name>`; `---` starts a fresh namespace.  Candidates are what Graph.create_node passes on: already in snake
case (the lines behind `snake` are `<text>\\t<snake case>`).
"""
import builtins
import keyword
import os
import random

from torch.fx.graph import _custom_builtins, _Namespace, _snake_case

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names")
PIECES = ["conv", "conv_1", "conv_2", "conv_10", "add", "add_", "add_01", "layer1.0.conv1", "sub.w", "input", "sum", "sum_1", "max",
          "len", "inf", "nan", "torch", "device", "NoneType", "_", "__", "_1", "1x1", "3", "a-b  c", "", "...", "x_1_2", "x_1", "x",
          "True", "lambda", "match", "type", "self", "é", "add__1", "_unnamed", "add_99999999999", "dequantize"]
SNAKE = ["myLinear", "L1.0", "ReLU", "conv2D", "XMLHttp", "a_B", "aB", "ABC", "layer1.0.downSample", "", "aBcDe", "conv_Relu"]

# Every name that torch.fx keeps from nodes: keywords, builtins and those its generated code uses.
# Among them None, which passes all the same: create_node asks on behalf of the object None.
RESERVED = {*keyword.kwlist, *dir(builtins), *_custom_builtins}


def main():
    random.seed(5)
    with open(os.path.join(HERE, "sequence.txt"), "w", encoding="utf-8") as file:
        for _ in range(12):
            file.write("---\n")
            namespace = _Namespace()
            for _ in range(80):
                candidate = random.choice(PIECES)
                file.write("%s\t%s\n" % (candidate, namespace.create_name(candidate, None)))
        file.write("---\n")
        namespace = _Namespace()
        for word in sorted(RESERVED):
            file.write("%s\t%s\n" % (word, namespace.create_name(word, None)))
        file.write("snake\n")
        for text in SNAKE:
            file.write("%s\t%s\n" % (text, _snake_case(text)))


main()
