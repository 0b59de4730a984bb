"""Runs models that `trainer convert` wrote as ONNX by ONNX Runtime, and compares what they predict with `trainer predict`.

    python tests/exporter/onnx/onnx_runtime.py BUILD_MODEL TRAINER [MODEL ...]

Each model is built small, trained for three steps and exported; onnx.checker looks at the file with its shapes. Values are
equal if they differ by at most 1e-4 of the largest one, which rounding explains: both compute in f32, in orders of
their own. Needs numpy, onnx and onnxruntime.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

TOLERANCE = 1e-4
SMALL_IMAGES = ["--classes=10", "--image-size=64"]
WORDS = ["--vocabulary=97", "--hidden=48", "--layers=2", "--heads=4", "--length=24"]
MODELS = {
    "mlp": ["mlp"],
    "lenet5": ["lenet5"],
    "mini-inception": ["mini-inception"],
    "resnet-50": ["resnet-50", "--width=0.25", *SMALL_IMAGES],
    "resnet-50 of ghost batches": ["resnet-50", "--width=0.25", "--statistics-samples=4", *SMALL_IMAGES],
    "resnet-50 of averages": ["resnet-50", "--width=0.25", "--average=0.9", *SMALL_IMAGES],
    "inception-v3": ["inception-v3", "--width=0.25", "--classes=10", "--image-size=107"],
    "inception-v3 with its auxiliary head": ["inception-v3", "--width=0.25", "--classes=10", "--image-size=139",
                                             "--auxiliary-head", "--count-padding"],
    "vgg-16": ["vgg-16", "--width=0.125", *SMALL_IMAGES],
    "alexnet": ["alexnet", "--width=0.125", "--classes=10"],
    "mobilenet-v3-large": ["mobilenet-v3-large", "--width=0.5", *SMALL_IMAGES],
    "efficientnet-b0": ["efficientnet-b0", "--width=0.5", *SMALL_IMAGES],
    "convnext-tiny": ["convnext-tiny", "--width=0.25", *SMALL_IMAGES],
    "vit-b-16": ["vit-b-16", "--hidden=48", "--layers=2", "--heads=4", *SMALL_IMAGES],
    "bert of masked words": ["bert-base", *WORDS],
    "bert of classes": ["bert-base", "--head=classifier", "--classes=5", *WORDS],
    "gpt2": ["gpt2", *WORDS],
}
BATCH = 8
BATCHES = [BATCH, 3]


def call(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def arrays_of(trainer, graph, samples, generator):
    """Random values of each input of a graph, by its name."""
    arrays = {}
    for line in json.loads(call(trainer, "show", "--format=json", graph))["inputs"]:
        name, kind, sizes = re.fullmatch(r"(\S+) (\w+)\[(.*)\]", line).groups()
        shape = [samples] + [int(size) for size in sizes.split(",")[1:]]
        if kind == "f32":
            arrays[name] = generator.standard_normal(shape).astype(numpy.float32)
        else:
            arrays[name] = generator.integers(1, {"segments": 2, "labels": 5}.get(name, 24), shape).astype(numpy.int32)
    return arrays


def as_in_onnx(value, x):
    """Images, [n,h,w,c] here, are [n,c,h,w] where a convolution or a pool reads them."""
    sizes = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim[1:]]
    return x if list(x.shape[1:]) == sizes else x.transpose(0, 3, 1, 2)


def largest_difference(build_model, trainer, arguments, folder):
    """As a share of the largest value."""
    generator = numpy.random.default_rng(1)
    graph, data, saved, exported, predictions = (
        os.path.join(folder, name) for name in ("graph.pbtxt", "data.npz", "m.safetensors", "m.onnx", "p.npy"))
    call(build_model, *arguments, f"--batch={BATCH}", "--output=" + graph)
    arrays = arrays_of(trainer, graph, BATCH, generator)
    numpy.savez(data, **{f"{part}/{name}": x for name, x in arrays.items() for part in ("train", "test")})
    call(trainer, "train", "--data=" + data, "--epochs=3", "--learning-rate=0.001", "--save=" + saved, graph)
    call(trainer, "convert", "--load=" + saved, "--output=" + exported, graph)
    model = onnx.load(exported)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    largest = 0
    for samples in BATCHES:
        arrays = arrays_of(trainer, graph, samples, generator)
        numpy.savez(data, **{"test/" + name: x for name, x in arrays.items()})
        call(trainer, "predict", "--data=" + data, "--load=" + saved, "--output=" + predictions, graph)
        expected = numpy.load(predictions)
        found = session.run(None, {value.name: as_in_onnx(value, arrays[value.name]) for value in model.graph.input})[0]
        if found.shape != expected.shape:
            raise RuntimeError(f"shape {found.shape} where predict has {expected.shape}")
        largest = max(largest, float(numpy.abs(found - expected).max() / numpy.abs(expected).max()))
    return largest


def main():
    build_model, trainer, *chosen = sys.argv[1:]
    equal = 0
    names = chosen or list(MODELS)
    for name in names:
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = largest_difference(build_model, trainer, MODELS[name], folder)
            is_equal = found <= TOLERANCE
            print(f"{name}: {'equal' if is_equal else 'differs'}, {found:.1e} of the largest value", flush=True)
        except Exception as error:  # one model must not end the others
            is_equal = False
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        equal += is_equal
    print(f"{equal} of {len(names)} equal")
    return 0 if equal == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
