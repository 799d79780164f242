"""Records PyTorch's side of the parity test: for each network the texts, parameters, outputs and integer values that
torch.ao.quantization (x86) makes, beside the exported float model."""
import argparse
import copy
import json
import os
import platform
import time

import torch

import saturation
from upstream import NETWORKS, SEED, Phases, calibrate_otherwise, intermediates, load_subject, save_tensors, single_output

import qfx_export


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def record_control(folder, model, calibration, inputs):
    """What PyTorch gives when only its float rounding changes: parameters and outputs beside the first ones."""
    other = calibrate_otherwise(model, [(batch,) for batch in calibration])
    with open(os.path.join(folder, "control.json"), "w") as file:
        json.dump(other.qparams(), file, indent=1)
    with torch.no_grad():
        save_tensors(os.path.join(folder, "control_outputs.safetensors"),
                     {"%d.output" % k: single_output(other.converted(batch)) for k, batch in enumerate(inputs)})


def own_float_error(model, inputs):
    """PyTorch's float outputs against the same model in double, over the largest output: what rounding alone does to this network."""
    exact, worst, largest = copy.deepcopy(model).double(), 0.0, 0.0
    with torch.no_grad():
        for batch in inputs:
            value = single_output(exact(batch.double() if batch.is_floating_point() else batch))
            largest = max(largest, float(value.abs().max()))
            worst = max(worst, float((single_output(model(batch)) - value).abs().max()))
    return worst / largest


def record_images(folder, module, inputs):
    """Every tensor of a graph module on each image alone, `image<i>.safetensors`."""
    for index, image in enumerate(image for batch in inputs for image in batch.split(1)):
        save_tensors(os.path.join(folder, "image%d.safetensors" % index), intermediates(module, (image,))[1])


def record_texts(folder, phases):
    for phase in phases.NAMES:
        with open(os.path.join(folder, phase + ".txt"), "w") as file:
            file.write(phases.text(phase) + "\n")


def record_inputs(folder, module, inputs):
    """Writes all batches; returns the input's name."""
    placeholder = next(n.target for n in module.graph.nodes if n.op == "placeholder")
    save_tensors(os.path.join(folder, "inputs.safetensors"), {"%d.%s" % (k, placeholder): batch for k, batch in enumerate(inputs)})
    return placeholder


def record_about(name, folder, start, more):
    about = {"network": name, "torch": torch.__version__, "seed": SEED, "engine": torch.backends.quantized.engine, "cpu": cpu_name(),
             "threads": torch.get_num_threads(), "seconds": round(time.time() - start, 1), **more}
    with open(os.path.join(folder, "about.json"), "w") as file:
        json.dump(about, file, indent=1)
    print("recorded %s in %.0f s" % (name, about["seconds"]))


def record_outputs(folder, kind, module, inputs):
    with torch.no_grad():
        save_tensors(os.path.join(folder, kind + "_outputs.safetensors"),
                     {"%d.output" % k: single_output(module(batch)) for k, batch in enumerate(inputs)})


def record_converted(folder, module, inputs, images):
    """The converted model's outputs, its values on the first image (with `images` on each), and where its sums are not exact."""
    record_outputs(folder, "int8", module, inputs)
    save_tensors(os.path.join(folder, "intermediates.safetensors"), intermediates(module, (inputs[0][:1],))[1])
    with open(os.path.join(folder, "saturation.json"), "w") as file:
        json.dump(saturation.saturated_images(module, inputs), file, indent=1)
    if images:
        record_images(folder, module, inputs)


def record(name, folder, subject, control, images=False):
    """Everything about one network (`subject`: model, calibration batches, evaluation batches) into `folder`: model.qfx (+ weights, calibration), <phase>.txt, qparams.json,
    observers.safetensors (the calibrated model's statistics), inputs.safetensors `<k>.x`, float_outputs and int8_outputs
    `<k>.output`, intermediates.safetensors (every tensor of the converted graph on the first input alone, by node name),
    saturation.json (images in which PyTorch's own sums are not exact, saturation.py), about.json. A converted model that PyTorch cannot run leaves
    the last three kinds out and its error in about.json. With `control`: control.json and control_outputs of a second calibration (upstream.calibrate_otherwise). With `images`: the values of every evaluation image (record_images)."""
    os.makedirs(folder, exist_ok=True)
    start = time.time()
    model, calibration, inputs = subject
    qfx_export.export(model, inputs[0][:1], os.path.join(folder, "model.qfx"), calibration)
    phases = Phases(model, [(batch,) for batch in calibration])
    record_texts(folder, phases)
    with open(os.path.join(folder, "qparams.json"), "w") as file:
        json.dump(phases.qparams(), file, indent=1)
    save_tensors(os.path.join(folder, "observers.safetensors"), phases.observers())
    placeholder = record_inputs(folder, phases.converted, inputs)
    save_tensors(os.path.join(folder, "first.safetensors"), {placeholder: inputs[0][:1]})
    record_outputs(folder, "float", model, inputs)
    float_error, int8_error = own_float_error(model, inputs), None
    try:
        record_converted(folder, phases.converted, inputs, images)
    except RuntimeError as error:  # PyTorch's own model does not run
        int8_error = str(error).splitlines()[0]
    if control:
        record_control(folder, model, calibration, inputs)
    record_about(name, folder, start, {"float_error": float_error, "int8_error": int8_error})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help="default: all seven")
    parser.add_argument("-o", "--output", required=True, help="folder, one subfolder per network")
    parser.add_argument("--size", type=int, default=224, help="edge of the torchvision networks' images")
    parser.add_argument("--no-control", dest="control", action="store_false",
                        help="leave out the second calibration, which takes most of the time")
    options = parser.parse_args()
    for name in options.networks or NETWORKS + ("digits",):
        record(name, os.path.join(options.output, name), load_subject(name, options.size), options.control)


if __name__ == "__main__":
    main()
