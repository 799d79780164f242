"""Trains the shipped network on scikit-learn's digits and writes test/models/digits: float model, calibration and test
split, labels, and what PyTorch's float and int8 (x86, default qconfig mapping) models make of the test split."""
import copy
import hashlib
import json
import os
import sys
import warnings

import numpy
import sklearn
import torch
from sklearn.datasets import load_digits

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "export"))
sys.path.insert(0, HERE)
import qfx_export  # noqa: E402
from digits_net import DigitsNet  # noqa: E402
from qfx_export.tensors import safetensors_bytes, write_together  # noqa: E402

SEED = 20
EPOCHS = 40
CALIBRATION_BATCHES, CALIBRATION_BATCH = 8, 25
TEST_BATCHES, TEST_BATCH = 5, 100
MEAN, STD = 0.305, 0.376  # of the training pixels, 0..1


def load_splits():
    """(images f32 [n, 1, 16, 16], labels i64 [n]) of train, calibration and test: one seeded permutation, cut."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    images = torch.nn.functional.interpolate(images, scale_factor=2, mode="bilinear", align_corners=False)
    images = (images - MEAN) / STD
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.from_numpy(numpy.random.RandomState(SEED).permutation(len(labels)))
    calibration, test = CALIBRATION_BATCHES * CALIBRATION_BATCH, TEST_BATCHES * TEST_BATCH
    cuts = (order[: -calibration - test], order[-calibration - test : -test], order[-test:])
    return [(images[cut].contiguous(), labels[cut]) for cut in cuts]


def train(model, images, labels):
    """SGD with momentum, one-cycle learning rate, random shifts by up to two pixels and label smoothing."""
    generator = torch.Generator().manual_seed(SEED)
    batch = 64
    steps = EPOCHS * (len(labels) // batch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=steps)
    background = (0 - MEAN) / STD
    model.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(labels), generator=generator)
        for start in range(0, len(order) - batch + 1, batch):
            index = order[start : start + batch]
            dx, dy = torch.randint(0, 5, (2,), generator=generator).tolist()
            x = torch.nn.functional.pad(images[index], (2, 2, 2, 2), value=background)[..., dy : dy + 16, dx : dx + 16]
            loss = torch.nn.functional.cross_entropy(model(x), labels[index], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def quantize(model, batches):
    """torch.ao.quantization's int8 model: x86 engine, default qconfig mapping."""
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    torch.backends.quantized.engine = "x86"
    prepared = prepare_fx(copy.deepcopy(model), get_default_qconfig_mapping("x86"), (batches[0],))
    with torch.no_grad():
        for batch in batches:
            prepared(batch)
    return convert_fx(prepared)


def run(model, batches):
    with torch.no_grad():
        return torch.cat([model(batch) for batch in batches])


def save(tensors, folder, name):
    write_together({os.path.join(folder, name + ".safetensors"): safetensors_bytes(tensors, {})})


def hits(logits, labels, k):
    return int((logits.topk(k, dim=1).indices == labels[:, None]).any(1).sum())


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    (train_images, train_labels), (calibration_images, _), (test_images, test_labels) = load_splits()
    model = train(DigitsNet(), train_images, train_labels)
    calibration = list(calibration_images.split(CALIBRATION_BATCH))
    test = list(test_images.split(TEST_BATCH))
    folder = os.path.join(HERE, "digits")
    os.makedirs(folder, exist_ok=True)
    qfx_export.export(model, test[0][:1], os.path.join(folder, "digits.qfx"))
    for name, batches in (("calib", calibration), ("test", test)):
        save({"%d.x" % i: batch.contiguous() for i, batch in enumerate(batches)}, folder, name)
    save({"labels": test_labels}, folder, "labels")
    float_logits, int8_logits = run(model, test), run(quantize(model, calibration), test)
    save({"float": float_logits, "int8": int8_logits}, folder, "expected")
    with open(os.path.join(folder, "digits.safetensors"), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    expected = {
        "torch": torch.__version__, "scikit-learn": sklearn.__version__, "seed": SEED, "epochs": EPOCHS,
        "samples": {"train": len(train_labels), "calibration": len(calibration_images), "test": len(test_labels)},
        "float": {"top1": hits(float_logits, test_labels, 1), "top5": hits(float_logits, test_labels, 5)},
        "int8": {"engine": "x86", "top1": hits(int8_logits, test_labels, 1), "top5": hits(int8_logits, test_labels, 5)},
        "weights_sha256": digest,
    }
    with open(os.path.join(folder, "digits.expected.json"), "w") as file:
        json.dump(expected, file, indent=2)
        file.write("\n")
    print(json.dumps(expected, indent=2))


if __name__ == "__main__":
    main()
