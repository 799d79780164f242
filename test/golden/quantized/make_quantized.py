"""Writes cases.json and cases.bin: quantized operators as PyTorch runs them.  python test/golden/quantized/make_quantized.py"""
import warnings

import torch

import conversions
import dynamic
import elementwise
import golden
import inplace
import order
import spatial
import weighted
import wide

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    made = golden.Golden()
    for part in (weighted, elementwise, spatial, conversions, order, wide, dynamic, inplace):
        before = len(made.cases)
        part.all_cases(made)
        print(part.__name__, len(made.cases) - before)
    made.write()
