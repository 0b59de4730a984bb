"""onnx_node_tests.py ONE_STEP [NAME...]: how many of the standard's tests of single nodes Partita computes as they say.

ONE_STEP is the program //tests/importer/step:one_step. The tests are those of onnx.backend.test whose ops
docs/guide/onnx.md lists; NAME restricts them to those that contain it. Each output is compared with the one that the
test gives: the mean squared difference is the loss. A test runs twice: with its first input as data, whose first
dimension is then the batch, and with all inputs as weights and constants. It is equal if one of the two is and none
differs. Prints the tests that differ or are refused, and one line for each op; exit code 1 if one differs. Needs numpy,
onnx and safetensors.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import safetensors.numpy
from onnx import TensorProto, helper, numpy_helper

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/guide/onnx.md")
NEAR = 1e-4  # root of the mean of squares, relative: the tests compute in f32, and those of f16 in that
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def listed_ops():
    with open(GUIDE, encoding="utf-8") as file:
        table = re.search(r"\| family \| ops of ONNX \|.*?\n\n", file.read(), re.S)[0]
    return set(re.findall(r"\b[A-Z]\w+", re.sub(r"\([^)]*\)", "", table)))


def tensors(case, kind, infos):
    """By name; None where one is no tensor."""
    _, given = None, case.data_sets[0][0 if kind == "inputs" else 1]
    names = [info.name for info in infos]
    values = {}
    for name, value in zip(names, given):
        values[name] = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return values


def usable(value):
    return isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub" and value.dtype.itemsize <= 8


def variant(model, inputs, output, wanted, with_data):
    """The model with that output alone, as floats of one dimension or more, and the data that it takes."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    data = {}
    infos = {info.name: info for info in graph.input}
    del graph.input[:]
    for name, value in inputs.items():
        elem = infos[name].type.tensor_type.elem_type
        if with_data and not data and value.ndim > 0 and value.size > 0:
            taken = name
            if elem == TensorProto.BOOL:
                taken = name + "_number"
                graph.node.insert(0, helper.make_node("Cast", [taken], [name], to=TensorProto.BOOL))
                elem = TensorProto.INT32
            graph.input.append(helper.make_tensor_value_info(taken, elem, value.shape))
            data[taken] = value.astype(numpy.float64 if elem in FLOATS else numpy.int32)
            continue
        graph.initializer.append(numpy_helper.from_array(value, name))
    del graph.output[:]
    result = output
    if wanted.dtype.kind != "f":
        graph.node.append(helper.make_node("Cast", [result], ["as_float"], to=TensorProto.FLOAT))
        result = "as_float"
    if wanted.ndim == 0:
        graph.initializer.append(numpy_helper.from_array(numpy.array([1]), "one_dimension"))
        graph.node.append(helper.make_node("Reshape", [result, "one_dimension"], ["as_vector"]))
        result = "as_vector"
    graph.output.append(helper.make_tensor_value_info(result, TensorProto.FLOAT, None))
    data["label"] = numpy.atleast_1d(wanted).astype(numpy.float64)
    return made, data


def answer(one_step, model, data, wanted, folder):
    path, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.safetensors")
    onnx.save(model, path)
    safetensors.numpy.save_file({n: numpy.ascontiguousarray(v) for n, v in data.items()}, inputs)
    trains = any(a.name == "training_mode" and a.i for node in model.graph.node for a in node.attribute)
    mode = [] if trains else ["--frozen", "--evaluate"]
    ran = subprocess.run([one_step, "--loss=mse", *mode, path, inputs], capture_output=True, text=True)
    if ran.returncode != 0:
        return "refused", ran.stderr.strip().replace(path, "model.onnx")[:200]
    loss = float(re.search(r'"loss":([-\w.+]+)', ran.stdout)[1])
    size = max(1.0, float(numpy.sqrt(numpy.mean(numpy.square(wanted.astype(numpy.float64))))))
    near = NEAR * (20 if wanted.dtype == numpy.float16 else 1)
    return ("equal", "") if loss**0.5 <= near * size else ("differs", f"by {loss**0.5:.1e}")


def compared(one_step, case, folder):
    graph = case.model.graph
    inputs = tensors(case, "inputs", graph.input)
    outputs = tensors(case, "outputs", graph.output)
    if not all(map(usable, [*inputs.values(), *outputs.values()])):
        return "other types", ""
    states = []
    for name, wanted in outputs.items():
        if not numpy.all(numpy.isfinite(wanted.astype(numpy.float64))) or wanted.size == 0:
            return "other types", "infinities, or nothing"
        ways = [answer(one_step, *variant(case.model, inputs, name, wanted, with_data), wanted, folder)
                for with_data in (True, False)]
        kinds = [way[0] for way in ways]
        pick = "differs" if "differs" in kinds else "equal" if "equal" in kinds else "refused"
        states.append(next(way for way in ways if way[0] == pick))
    for state in ("differs", "refused", "equal"):
        for found in states:
            if found[0] == state:
                return found
    return "other types", ""


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    from onnx.backend.test.loader import load_model_tests
    ops = listed_ops()
    counts = collections.defaultdict(collections.Counter)
    for case in load_model_tests(kind="node"):
        if case.model is None or (sys.argv[2:] and not any(word in case.name for word in sys.argv[2:])):
            continue
        own = {node.op_type for node in case.model.graph.node}
        opset = max([o.version for o in case.model.opset_import if not o.domain], default=0)
        if not own <= ops or case.model.functions or not 7 <= opset <= 26 or not case.model.graph.node:
            continue
        with tempfile.TemporaryDirectory() as folder:
            state, why = compared(sys.argv[1], case, folder)
        op = case.model.graph.node[-1].op_type if len(own) > 1 else own.pop()
        counts[op][state] += 1
        if state in ("differs", "refused"):
            print(f"{state}: {case.name}: {why}", flush=True)
    whole = sum(counts.values(), collections.Counter())
    print("| op | equal | refused |\n|---|---|---|")
    for op, count in sorted(counts.items()):
        print(f"| {op} | {count['equal']} | {count['refused']} |" + (f" differs {count['differs']}" if count["differs"] else ""))
    print(f"{whole['equal']} of {sum(whole.values()) - whole['other types']} equal, {whole['differs']} differ, "
          f"{whole['refused']} refused; {whole['other types']} have other types")
    sys.exit(1 if whole["differs"] else 0)


if __name__ == "__main__":
    main()
