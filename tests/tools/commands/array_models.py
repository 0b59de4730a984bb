"""Models that no folder of images trains, and data that they learn: what tests of named arrays share."""

import random

CLASSES = 100


def node(name, op, *inputs, **attributes):
    def value(v):
        if isinstance(v, str):
            return f'text: "{v}"'
        if isinstance(v, bool):
            return f"boolean: {str(v).lower()}"
        return f"integers {{ values: {list(v)} }}" if isinstance(v, (list, tuple)) else f"number: {v}"
    return (f'nodes {{ name: "{name}" op: "{op}" ' + " ".join(f'inputs: "{i}"' for i in inputs) + " " +
            " ".join(f'attributes {{ name: "{a}" {value(v)} }}' for a, v in attributes.items()) + " }\n")


def dense(name, x, sizes):
    return (node(name + "/weights", "parameter", initializer="glorot_uniform", shape=sizes) +
            node(name, "matmul", x, name + "/weights"))


def graph(nodes, loss, metrics=(), rate=0.1):
    return ('schema_version: 1\nname: "model"\n' + nodes + f'loss: "{loss}"\n' +
            "".join(f'metrics: "{metric}"\n' for metric in metrics) +
            f'optimizer {{ momentum: 0.9 }}\nlearning_rate {{ schedule: "constant" base: {rate} }}\n')


def classifier(batch, classes=CLASSES):
    """Points [8] into many classes."""
    return graph(node("points", "input", shape=[batch, 8]) + node("class", "input", dtype="i32", shape=[batch]) +
                 dense("hidden", "points", [8, 64]) + node("relu", "relu", "hidden") +
                 dense("logits", "relu", [64, classes]) + node("loss", "softmax_cross_entropy", "logits", "class") +
                 node("right", "accuracy", "logits", "class"), "loss", ["right"], rate=0.2)


def weighted(batch):
    """The same into three classes, as the mean over the points that count."""
    return graph(node("points", "input", shape=[batch, 8]) + node("class", "input", dtype="i32", shape=[batch]) +
                 node("counts", "input", shape=[batch]) + dense("logits", "points", [8, 3]) +
                 node("all", "sum", "counts") + node("shares", "over", "counts", "all") +
                 node("loss", "softmax_cross_entropy", "logits", "class", "shares", reduction="sum"), "loss")


def squared_error(batch, prediction, target):
    """Nodes whose last, `loss`, is the mean over the batch of (prediction - target)^2, both [batch, 1]."""
    return (node("minus", "constant", shape=[batch, 1], value=-1) + node("negative", "mul", target, "minus") +
            node("difference", "add", prediction, "negative") + node("square", "mul", "difference", "difference") +
            node("row", "reshape", "square", shape=[1, batch]) +
            node("share", "constant", shape=[batch, 1], value=1 / batch) + node("mean", "matmul", "row", "share") +
            node("loss", "reshape", "mean", shape=[]))


MEAN_SQUARED_ERROR = node("loss", "mean_squared_error", "prediction", "y")


def regression(batch, loss=MEAN_SQUARED_ERROR):
    """A number of four."""
    return graph(node("x", "input", shape=[batch, 4]) + node("y", "input", shape=[batch, 1]) +
                 dense("prediction", "x", [4, 1]) + loss, "loss")


def own_regression(batch):
    """The same, of which nobody but its author knows that its loss is a mean over samples."""
    return regression(batch, squared_error(batch, "prediction", "y"))


def two_inputs(batch):
    """Images of bytes and four numbers into three classes."""
    return graph(node("views/image", "input", shape=[batch, 4, 4, 1]) + node("numbers", "input", shape=[batch, 4]) +
                 node("labels", "input", dtype="i32", shape=[batch]) +
                 node("flat", "reshape", "views/image", shape=[-1, 16]) + dense("seen", "flat", [16, 8]) +
                 dense("told", "numbers", [4, 8]) + node("both", "add", "seen", "told") + node("relu", "relu", "both") +
                 dense("logits", "relu", [8, 3]) + node("loss", "softmax_cross_entropy", "logits", "labels") +
                 node("accuracy", "accuracy", "logits", "labels"), "loss", ["accuracy"])


def attention(batch, places=6, channels=8, heads=2, shared=False):
    """A sequence into three classes: attention of products of activations, and a residual. `shared`: all heads have the
    same keys and values."""
    depth = channels // heads

    def split(name, parts):
        return (dense(name, "x", [channels, parts * depth]) +
                node(name + "/apart", "reshape", name, shape=[-1, places, parts, depth]) +
                node(name + "/heads", "transpose", name + "/apart", permutation=[0, 2, 1, 3]))
    keys = 1 if shared else heads
    return graph(node("x", "input", shape=[batch, places, channels]) +
                 node("class", "input", dtype="i32", shape=[batch]) + split("q", heads) +
                 split("k", keys) + split("v", keys) +
                 node("scores", "batch_matmul", "q/heads", "k/heads", transpose_y=True) +
                 node("scaled", "scale", "scores", factor=depth ** -0.5) +
                 node("shares", "softmax", "scaled") + node("context", "batch_matmul", "shares", "v/heads") +
                 node("back", "transpose", "context", permutation=[0, 2, 1, 3]) +
                 node("joined", "reshape", "back", shape=[-1, places, channels]) +
                 dense("out", "joined", [channels, channels]) + node("y", "add", "x", "out") +
                 node("flat", "reshape", "y", shape=[-1, places * channels]) +
                 dense("logits", "flat", [places * channels, 3]) +
                 node("loss", "softmax_cross_entropy", "logits", "class") +
                 node("right", "accuracy", "logits", "class"), "loss", ["right"])


def broadcasts(batch, places=6, channels=8):
    """Positions, gains and a norm by numpy's broadcasting, a product of a row and a column; into three classes."""
    def parameter(name, *shape):
        return node(name, "parameter", initializer="uniform", scale=0.5, shape=list(shape))
    return graph(node("x", "input", shape=[batch, places, channels]) +
                 node("class", "input", dtype="i32", shape=[batch]) +
                 parameter("positions", places, channels) + node("placed", "add", "x", "positions") +
                 parameter("gain", channels) + node("gained", "mul", "gain", "placed") +
                 node("mean", "mean", "gained", axes=[1, 2], keep_sizes=True) +
                 node("centred", "sub", "gained", "mean") +
                 node("square", "square", "centred") + node("variance", "mean", "square", axes=[2], keep_sizes=True) +
                 node("deviation", "sqrt", "variance") + node("normed", "div", "centred", "deviation") +
                 parameter("floor", 1) + node("cut", "maximum", "normed", "floor") +
                 parameter("column", places, 1) + parameter("row", 1, channels) +
                 node("outer", "mul", "column", "row") +
                 parameter("shift", 1, places, 1) + node("sum", "add", "cut", "outer", "shift") +
                 node("flat", "reshape", "sum", shape=[-1, places * channels]) +
                 dense("logits", "flat", [places * channels, 3]) +
                 node("loss", "softmax_cross_entropy", "logits", "class"), "loss", rate=0.01)


def class_data(count, seed):
    """Clusters around a point for each class."""
    centres = random.Random(1)
    middle = [[centres.uniform(-2, 2) for _ in range(8)] for _ in range(CLASSES)]
    noise, points, labels = random.Random(seed), [], []
    for _ in range(count):
        labels.append(noise.randrange(CLASSES))
        points += [value + noise.gauss(0, 0.1) for value in middle[labels[-1]]]
    return {"points": ("f", [count, 8], points), "class": ("q", [count], labels)}


def number_data(count, seed):
    """y = 1 x0 - 2 x1 + 3 x2."""
    noise = random.Random(seed)
    x = [noise.gauss(0, 1) for _ in range(4 * count)]
    y = [x[4 * i] - 2 * x[4 * i + 1] + 3 * x[4 * i + 2] for i in range(count)]
    return {"x": ("d", [count, 4], x), "y": ("f", [count], y)}


def two_data(count, seed):
    """The class is told by the brightness of the image and by the sign of the numbers."""
    noise = random.Random(seed)
    labels = [noise.randrange(3) for _ in range(count)]
    image = [80 * label + noise.randrange(80) for label in labels for _ in range(16)]
    numbers = [label - 1 + noise.gauss(0, 0.3) for label in labels for _ in range(4)]
    return {"views/image": ("B", [count, 4, 4], image), "numbers": ("f", [count, 4], numbers),
            "labels": ("B", [count], labels)}


def in_sets(data, train, test):
    """Arrays train/NAME and test/NAME."""
    sets = {f"train/{name}": array for name, array in data(train, 2).items()}
    sets.update({f"test/{name}": array for name, array in data(test, 3).items()})
    return sets
