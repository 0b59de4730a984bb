"""Makes the ONNX models of this folder, those in refused/ that are not read, and what PyTorch computes with them:
`python3 make.py` in an environment with torch, onnx, onnxscript and safetensors. All in f64, with weights of a fixed
seed, so that the tests compare every digit.

FILE.onnx           what torch.onnx.export writes of a module that returns predictions, by the exporter of TorchScript or
                    that of torch.export, or a graph of onnx.helper
steps/FILE.safetensors   in/NAME: a batch; loss: the cross entropy of the first result; gradient/INITIALIZER and
                    running/INITIALIZER, under the initializers' names with _ where a name has another character
steps/FILE.frozen.safetensors   the same with the module in evaluation
"""

import contextlib
import io
import os
import re
import sys
import warnings

import numpy
import onnx
import onnx.reference
import safetensors.torch
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models"))
import make as programs  # noqa: E402

BATCH = 5


class Decoder(nn.Module):
    """Transposed convolutions, resizing, and norms of groups and instances."""

    def __init__(self):
        super().__init__()
        self.down, self.norm = nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(4, 8)
        self.up, self.instance = nn.ConvTranspose2d(8, 6, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(6, affine=True)
        self.slopes, self.head = nn.PReLU(6), nn.Conv2d(6, 7, 1)

    def forward(self, x):
        x = F.pad(self.norm(self.down(x)), (1, 0, 2, 1))
        x = self.slopes(self.instance(self.up(x)))
        x = F.interpolate(x, scale_factor=2, mode="nearest") + F.interpolate(x, size=(44, 36), mode="bilinear")
        x = F.pixel_shuffle(F.avg_pool2d(x, 3, 2, 1, ceil_mode=True).repeat(1, 4, 1, 1), 2)
        return self.head(F.mish(x)).amax((2, 3))


class Functions(nn.Module):
    """Functions of single elements, comparisons and choices. Numbers are such that f32 holds them."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 9), nn.Linear(9, 7)

    def forward(self, x):
        x = self.first(x)
        y = F.leaky_relu(x, 0.25) + F.hardtanh(x) * F.relu6(3 * x + 2) - F.hardswish(x) + F.elu(x, 0.5) + F.selu(x)
        y = y + F.celu(x) + F.softplus(x) * F.softsign(x) + F.mish(x) + F.gelu(x) - F.gelu(x, approximate="tanh")
        y = y + torch.clamp(x, -0.5, 0.75) + torch.clamp(x, min=0.125) + abs(x) + torch.erf(x) + F.silu(x)
        y = y + torch.tanh(x) ** 2 + (1 + x.exp()).log() + (x * x + 0.5).rsqrt() + (2 - torch.sigmoid(x)).reciprocal()
        y = y + torch.where(x > 0.25, x.sin(), x.cos()) + torch.minimum(x, y) - torch.maximum(x, 0.5 * y)
        y = y + torch.where((x < 0) | (x >= 1), 2.0, 1.0) / (1 + x * x) + (2.0 - x) + x.masked_fill(x <= 0, 0.5)
        return self.head(y * y.sum(-1, keepdim=True) / y.square().sum(-1, keepdim=True).sqrt())


class Recurrent(nn.Module):
    """An LSTM in both directions and a GRU."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 4, bidirectional=True)
        self.gru, self.head = nn.GRU(8, 5), nn.Linear(5, 7)

    def forward(self, x):
        y, _ = self.lstm(x.transpose(0, 1))
        _, h = self.gru(y)
        return self.head(h[0])


def by_script(module, x, path, **options):
    options = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}, **options}
    torch.onnx.export(module, (x,), path, dynamo=False, **options)


def by_export(module, x, path, external=False, **options):
    batch = torch.export.Dim("batch", min=2)
    torch.onnx.export(module, (x,), path, dynamo=True, dynamic_shapes=({0: batch},), external_data=external,
                      input_names=["x"], verbose=False, **options)


def named(initializers, tensors):
    """The tensors by the names of initializers: of the same name, or else of the same values, which may be transposed.
    `tensors`: by name in the module, its values and what is saved of it."""
    saved = {}
    for initializer in initializers:
        values = torch.from_numpy(numpy_helper.to_array(initializer).copy())
        for value, kept in [tensors[initializer.name]] if initializer.name in tensors else tensors.values():
            if values.dim() == 2 and values.shape == value.T.shape and torch.equal(values, value.T):
                kept = kept.T
            elif values.squeeze().shape != value.squeeze().shape or not torch.equal(values.squeeze(), value.squeeze()):
                continue
            saved[re.sub(r"[^\w./-]", "_", initializer.name)] = kept.reshape(values.shape).contiguous()
    return saved


def gates_of(module, tensors):
    """Tensors of a recurrent layer's first layer, a function of each parameter's name, as ONNX has them."""
    order = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}[type(module).__name__]
    directions = ("", "_reverse") if module.bidirectional else ("",)

    def ordered(name):
        parts = tensors(name).chunk(len(order))
        return torch.cat([parts[i] for i in order])

    for kind in ("weight_ih_l0", "weight_hh_l0"):
        yield torch.stack([ordered(kind + d) for d in directions])
    yield torch.stack([torch.cat([ordered("bias_ih_l0" + d), ordered("bias_hh_l0" + d)]) for d in directions])


def save_step(path, module, x, label, golden):
    module.zero_grad()
    before = {n: (b.detach().clone(), b) for n, b in module.named_buffers() if "running" in n}
    loss = F.cross_entropy(module(x), label)
    loss.backward()
    initializers = onnx.load(path, load_external_data=True).graph.initializer
    parameters = {n: (p.detach(), p.grad) for n, p in module.named_parameters() if p.grad is not None}
    for name, part in module.named_modules():
        if isinstance(part, (nn.LSTM, nn.GRU)):
            own = dict(part.named_parameters())
            pairs = zip(gates_of(part, lambda n, own=own: own[n].detach()), gates_of(part, lambda n, own=own: own[n].grad))
            parameters |= {f"{name} {i}": pair for i, pair in enumerate(pairs)}
    tensors = {"in/x": x, "in/label": label, "loss": loss.detach().reshape(1)}
    tensors |= {"gradient/" + n: g for n, g in named(initializers, parameters).items()}
    tensors |= {"running/" + n: b for n, b in named(initializers, before).items()}
    tensors = {n: (t.int() if t.dtype == torch.int64 else t).contiguous().clone() for n, t in tensors.items()}
    safetensors.torch.save_file(tensors, golden)


def make(name, model, export, x, training=False, frozen=False, example=None, **options):
    torch.manual_seed(7)
    module = model().double().eval()
    path = name + ".onnx"
    label = torch.randint(0, 7, (BATCH,))
    if training:
        module.train()
        options |= {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
        with torch.no_grad():  # statistics that differ, by which they are found again
            for buffer in module.buffers():
                buffer += torch.rand_like(buffer) if buffer.is_floating_point() else 0
    export(module, x if example is None else example, path, **options)
    if frozen:
        save_step(path, module.eval(), x, label, f"steps/{name}.frozen.safetensors")
        module.train()
    save_step(path, module, x, label, f"steps/{name}.safetensors")


def model_of(nodes, inputs, outputs, initializers=(), opset=17, domains=()):
    def infos(values):
        return [helper.make_tensor_value_info(n, t, s) for n, t, s in values]

    graph = helper.make_graph(nodes, "graph", infos(inputs), infos(outputs), list(initializers))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def make_forms():
    """What older opsets have as attributes, typed fields of tensors, and numbers that shapes become."""
    d = TensorProto.DOUBLE
    weight = numpy.linspace(-1, 1, 4 * 6).reshape(4, 6)
    nodes = [
        helper.make_node("Unsqueeze", ["x"], ["u"], axes=[1]),
        helper.make_node("Squeeze", ["u"], ["s"], axes=[1]),
        helper.make_node("Clip", ["s"], ["c"], min=-0.875, max=0.875),
        helper.make_node("Dropout", ["c"], ["dropped"], ratio=0.0),
        helper.make_node("Shape", ["dropped"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["samples"], axis=0),
        helper.make_node("Unsqueeze", ["samples"], ["samples1"], axes=[0]),
        helper.make_node("Concat", ["samples1", "two"], ["target"], axis=0),
        helper.make_node("Reshape", ["dropped", "target"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"], axis=1),
        helper.make_node("Softmax", ["f"], ["soft"]),
        helper.make_node("Slice", ["soft", "starts", "ends", "axes"], ["cut"]),
        helper.make_node("Split", ["cut"], ["left", "right"], axis=1, split=[2, 3]),
        helper.make_node("Pad", ["left"], ["padded"], pads=[0, 1, 0, 0]),
        helper.make_node("Add", ["padded", "right"], ["sum"]),
        helper.make_node("Concat", ["sum", "right"], ["all"], axis=1),
        helper.make_node("Gemm", ["all", "w", "b"], ["y"], alpha=0.5, beta=2.0, transB=1),
        helper.make_node("ReduceSum", ["all"], ["total"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["y", "total"], ["result"]),
    ]
    ints = {"zero": ([], [0]), "two": ([2], [2, -1]), "starts": ([1], [1]), "ends": ([1], [9223372036854775807]),
            "axes": ([1], [1])}
    initializers = [helper.make_tensor(n, TensorProto.INT64, s, v) for n, (s, v) in ints.items()]
    initializers += [helper.make_tensor("w", d, [4, 6], weight.flatten()),
                     helper.make_tensor("b", d, [4], [0.5, -0.5, 1, 0])]
    model = model_of(nodes, [("x", d, ["n", 6])], [("result", d, ["n", 4])], initializers, opset=10)
    onnx.save(model, "forms.onnx")
    x = numpy.linspace(-2, 2, 3 * 6).reshape(3, 6)
    result = numpy.asarray(onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})[0])
    safetensors.torch.save_file({"in/x": torch.from_numpy(x), "in/label": torch.zeros(3, 4, dtype=torch.float64),
                                 "loss": torch.tensor([(result**2).mean()])}, "steps/forms.safetensors")


def save_graph(name, model, x, result):
    """A model of onnx.helper, and the mean of the squares of its result."""
    onnx.checker.check_model(model)
    onnx.save(model, name + ".onnx")
    safetensors.torch.save_file({"in/x": torch.from_numpy(x), "in/label": torch.zeros(*result.shape, dtype=torch.float64),
                                 "loss": torch.tensor([(result**2).mean()])}, f"steps/{name}.safetensors")


def make_local():
    """Functions of the model: called twice, by each other, with attributes given and by default, with inputs absent."""
    node, d = helper.make_node, TensorProto.DOUBLE

    def with_reference(made, **references):
        for name, of_function in references.items():
            attribute = made.attribute.add()
            attribute.name, attribute.ref_attr_name, attribute.type = name, of_function, onnx.AttributeProto.FLOAT
        return made

    imports = [helper.make_opsetid("", 27), helper.make_opsetid("own", 1)]
    layer = helper.make_function(
        "own", "Layer", ["x", "w", "b"], ["y"],
        [with_reference(node("Gemm", ["x", "w", "b"], ["h"], transB=1), alpha="scale", beta="shift"),
         node("Tanh", ["h"], ["y"])],
        imports, ["scale"])
    layer.attribute_proto.append(helper.make_attribute("shift", 0.25))
    block = helper.make_function(
        "own", "Block", ["x", "w", "v", "b"], ["y", "unread"],
        [node("Layer", ["x", "w", "b"], ["h"], domain="own", scale=0.5),
         node("Layer", ["h", "v"], ["g"], domain="own", scale=2.0, shift=0.5),
         node("Add", ["g", "x"], ["y"]), node("Relu", ["h"], ["unread"])],
        imports)
    nodes = [node("Block", ["x", "w", "v", "b"], ["h"], domain="own"), node("Block", ["h", "w", "v"], ["g"], domain="own"),
             node("Range", ["zero", "six", "one"], ["places"]), node("Mul", ["g", "places"], ["y"])]
    numbers = numpy.linspace(-1, 1, 24)
    initializers = [helper.make_tensor("w", d, [4, 6], numbers), helper.make_tensor("v", d, [6, 4], numbers[::-1]),
                    helper.make_tensor("b", d, [4], numbers[:4])]
    initializers += [helper.make_tensor(n, d, [], [v]) for n, v in (("zero", 0), ("one", 1), ("six", 6))]
    model = model_of(nodes, [("x", d, ["n", 6])], [("y", d, ["n", 6])], initializers, opset=27, domains=["own"])
    model.functions.extend([layer, block])
    x, w, v = numpy.linspace(-2, 2, 3 * 6).reshape(3, 6), numbers.reshape(4, 6), numbers[::-1].reshape(6, 4)
    # onnx's own interpreter and its inliner know no defaults of functions' attributes.
    first = numpy.tanh(2 * numpy.tanh(0.5 * x @ w.T + 0.25 * numbers[:4]) @ v.T) + x
    second = numpy.tanh(2 * numpy.tanh(0.5 * first @ w.T) @ v.T) + first
    save_graph("local", model, x, second * numpy.arange(6))


def make_scattered():
    """Writes into constant places: of weights, and of each sample of a fixed batch, one of them twice."""
    node, d, i = helper.make_node, TensorProto.DOUBLE, TensorProto.INT64
    samples = numpy.arange(4).repeat(3)
    pairs = numpy.stack([samples, numpy.tile([4, -5, 0], 4)], 1).reshape(4, 3, 2)
    cells = numpy.stack([samples, numpy.tile([1, 1, 0], 4), numpy.tile([2, 0, 2], 4)], 1)
    nodes = [node("ScatterND", ["w", "rows", "v"], ["table"]), node("MatMul", ["x", "table"], ["h"]),
             node("ScatterND", ["h", "pairs", "h3"], ["g"]), node("Slice", ["x", "zero", "three", "one"], ["h3"]),
             node("Reshape", ["g", "cube"], ["c"]), node("Reshape", ["h3", "flat"], ["f"]),
             node("ScatterND", ["c", "cells", "f"], ["y"])]
    nodes.insert(2, nodes.pop(3))
    numbers = numpy.linspace(-1, 1, 30)
    initializers = [helper.make_tensor("w", d, [5, 6], numbers), helper.make_tensor("v", d, [2, 6], 3 * numbers[:12]),
                    helper.make_tensor("rows", i, [2, 1], [3, -4]), helper.make_tensor("pairs", i, [4, 3, 2], pairs.flatten()),
                    helper.make_tensor("cells", i, [12, 3], cells.flatten()), helper.make_tensor("zero", i, [1], [0]),
                    helper.make_tensor("three", i, [1], [3]), helper.make_tensor("one", i, [1], [1]),
                    helper.make_tensor("cube", i, [3], [4, 2, 3]), helper.make_tensor("flat", i, [1], [12])]
    model = model_of(nodes, [("x", d, [4, 5])], [("y", d, [4, 2, 3])], initializers, opset=18)
    x = numpy.linspace(-2, 2, 4 * 5).reshape(4, 5)
    save_graph("scattered", model, x, onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})[0])


def make_halves():
    """Weights in half precision."""
    h = TensorProto.FLOAT16
    numbers = numpy.linspace(-1, 1, 24).astype(numpy.float16)
    initializers = [numpy_helper.from_array(numbers.reshape(4, 6), "w"), numpy_helper.from_array(numbers[:4], "b")]
    onnx.save(model_of([helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], [("x", h, ["n", 6])],
                       [("y", h, ["n", 4])], initializers), "halves.onnx")


def make_refused_functions():
    """Functions that call themselves, or so many others that nothing could hold them."""
    x, y = [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 4])]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    call = lambda op, given="x", made="y": helper.make_node(op, [given], [made], domain="own")  # noqa: E731
    for name, functions in (
            ("recursive", {"F0": [call("F0")]}),
            ("doubling", {f"F{i}": [call(f"F{i + 1}", "x", "h"), call(f"F{i + 1}", "h")] for i in range(40)} | {"F40": []})):
        model = model_of([call("F0")], x, y, domains=["own"])
        model.functions.extend(helper.make_function("own", n, ["x"], ["y"], nodes, imports)
                               for n, nodes in functions.items())
        onnx.save(model, f"refused/{name}.onnx")
    many = model_of([helper.make_node("F", ["x", "x"], ["y"], domain="own")], x, y, domains=["own"])
    many.functions.append(helper.make_function("own", "F", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], imports))
    onnx.save(many, "refused/inputs.onnx")


def make_refused():
    f, i = TensorProto.FLOAT, TensorProto.INT64
    x, y = [("x", f, ["n", 4])], [("y", f, ["n", 4])]

    def save(name, *arguments, **options):
        onnx.save(model_of(*arguments, **options), f"refused/{name}.onnx")

    node = helper.make_node
    save("ops", [node("Det", ["x"], ["a"], name="first"), node("Fused", ["x"], ["b"], domain="vendor"),
                 node("Add", ["a", "b"], ["c"]), node("TopK", ["c", "k"], ["y", "i"]),
                 node("Det", ["y"], ["unread"], name="unread")],
         x, y, [helper.make_tensor("k", i, [1], [4])], domains=["vendor"])
    save("quantised", [node("QuantizeLinear", ["x", "s"], ["q"]), node("DequantizeLinear", ["q", "s"], ["y"])], x, y,
         [helper.make_tensor("s", f, [], [0.5])])
    branch = helper.make_graph([node("Identity", ["x"], ["z"])], "branch", [],
                               [helper.make_tensor_value_info("z", f, ["n", 4])])
    save("branches", [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], x, y,
         [helper.make_tensor("c", TensorProto.BOOL, [], [True])])
    save("old", [node("Relu", ["x"], ["y"])], x, y, opset=6)
    save("new", [node("Relu", ["x"], ["y"])], x, y, opset=99)
    save("open", [node("Relu", ["x"], ["y"])], [("x", f, ["n", "height"])], y)
    sequence = model_of([node("Identity", ["s"], ["y"])], x, y)
    del sequence.graph.input[:]
    sequence.graph.input.append(helper.make_tensor_sequence_value_info("s", f, [2]))
    onnx.save(sequence, "refused/sequence.onnx")
    for name, location in (("missing", "none.bin"), ("outside", "../forms.onnx"), ("absolute", "/etc/passwd"),
                           ("short", "short.bin"), ("linked", "linked.bin")):
        tensor = numpy_helper.from_array(numpy.zeros((4, 4), numpy.float32), "w")
        onnx.external_data_helper.set_external_data(tensor, location, 0, 64)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        save(name, [node("MatMul", ["x", "w"], ["y"])], x, y, [tensor])
    with open("refused/short.bin", "wb") as file:
        file.write(bytes(63))
    sizes = helper.make_tensor("w", f, [4, 4], numpy.zeros(16))
    sizes.dims[0] = 2**40
    save("sizes", [node("MatMul", ["x", "w"], ["y"])], x, y, [sizes])
    many = helper.make_tensor("shape", i, [1], [2**40])
    scatter = [helper.make_tensor("p", i, [1, 1], [1]), helper.make_tensor("u", f, [1, 4], numpy.ones(4))]
    save("scattered", [node("ScatterND", ["x", "p", "u"], ["a"], name="sample"), node("MatMul", ["a", "w"], ["b"]),
                       node("ScatterND", ["w", "p", "u"], ["w2"], name="added", reduction="add"),
                       node("MatMul", ["b", "w2"], ["y"])], x, y,
         [*scatter, helper.make_tensor("w", f, [4, 4], numpy.ones(16))], opset=18)
    save("many", [node("ConstantOfShape", ["shape"], ["c"]), node("Add", ["x", "c"], ["y"])], x, y, [many])


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    for folder in ("refused", "steps"):
        os.makedirs(folder, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.manual_seed(3)
    image, rows = torch.randn(BATCH, 3, 16, 16).double(), torch.randn(BATCH, 6).double()
    with contextlib.redirect_stdout(io.StringIO()):
        make("residual", programs.Residual, by_script, image, training=True, frozen=True, opset_version=13)
        make("folded", programs.Residual, by_export, image)
        make("blocks", programs.Blocks, by_export, image, external=True)
        make("transformer", programs.Transformer, by_export, image)
        make("attention", programs.Transformer, by_export, image, opset_version=23)
        make("patches", programs.Transformer, by_script, image, opset_version=17)
        make("windows", programs.Windows, by_script, image)
        make("functions", Functions, by_export, rows)
        make("decoder", Decoder, by_script, image, opset_version=18)
        make("recurrent", Recurrent, by_script, torch.randn(BATCH, 4, 6).double(), opset_version=15)
        make("fixed", programs.Transformer, by_script, image, example=image[:1], dynamic_axes=None)
    make_forms()
    make_local()
    make_scattered()
    make_halves()
    make_refused()
    make_refused_functions()


if __name__ == "__main__":
    main()
