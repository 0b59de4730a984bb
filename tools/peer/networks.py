"""The shipped models of images in PyTorch, layer by layer as tools/models has them, with tensors under the same names;
`make` has those of words and transformers as well.

A network is a function of images that asks for layers by name; the first call, on zeros, makes them.
"""

import recipes
import sequences
import torch
import transformer_networks
from torch import nn
from torch.nn import functional

DEFAULTS = {"classes": 10, "channels": 1, "image_size": 28, "norm": None, "dropout": 0.0, "smoothing": 0.0}
IMAGENET = {**DEFAULTS, "classes": 1000, "channels": 3, "image_size": 224}


class Network(nn.Module):
    """`body(net, images)` gives the logits; what it adds to `net.further` are logits of further losses with weights."""

    drawn = {}  # values that ours draws and `loss` takes: none
    tables = ()  # parameters whose gradients are rows, by our names: none

    def __init__(self, name, body, settings):
        super().__init__()
        self.name, self.body, self.settings = name, body, settings
        self.layers = nn.ModuleDict()
        self.further = []
        size = settings["image_size"]
        with torch.no_grad():
            self(torch.zeros(2, settings["channels"], size, size))
        for layer in self.layers.values():
            if isinstance(layer, nn.BatchNorm2d):
                layer.reset_running_stats()

    def forward(self, images):
        self.further = []
        return self.body(self, images)

    def forget(self):
        """Nothing goes on from batch to batch."""

    def batches(self, count, batch):
        """Random ones, each a dictionary of what `loss` takes."""
        size = self.settings["image_size"]
        images = torch.randn(count, batch, self.settings["channels"], size, size)
        labels = torch.randint(self.settings["classes"], (count, batch))
        return [{"images": images[i].to(memory_format=torch.channels_last), "labels": labels[i]} for i in range(count)]

    def to_ours(self, batch, dtype):
        """Such a batch as our graph reads it, by field."""
        return {"images": batch["images"].to(dtype).permute(0, 2, 3, 1).contiguous(), "labels": batch["labels"].int()}

    def recipe(self, batch, rate=1.0):
        return recipes.Training(self.name, list(self.parameters()), batch, rate)

    def loss(self, images, labels):
        smoothing = self.settings["smoothing"]
        logits = self(images)
        loss = functional.cross_entropy(logits, labels, label_smoothing=smoothing)
        for further, weight in self.further:
            loss = loss + weight * functional.cross_entropy(further, labels, label_smoothing=smoothing)
        return loss

    def layer(self, name, make):
        if name not in self.layers:
            self.layers[name] = make()
        return self.layers[name]

    def limit(self, channels):
        width, divisor = self.settings.get("width", 1), self.settings.get("divisor", 1)
        if width != 1:
            channels = divisible(width * channels, divisor) if divisor > 1 else round(width * channels)
        return min(max(1, channels), self.settings.get("channel_limit") or max(1, channels))

    def conv(self, name, x, outputs, kernel, stride=1, padding=0, relu=True):
        x = self.normalized(name, x, self.limit(outputs), kernel, stride, padding)
        return functional.relu(x, inplace=True) if relu else x

    def depthwise(self, name, x, kernel, stride):
        channels = x.shape[1]
        return self.normalized(name, x, channels, kernel, stride, kernel // 2, channels)

    def normalized(self, name, x, outputs, kernel, stride, padding, groups=1):
        norm = self.settings["norm"]
        x = self.layer(name + "/conv", lambda: nn.Conv2d(x.shape[1], outputs, kernel, stride, padding, groups=groups,
                                                         bias=norm is None))(x)
        if norm is None:
            return x
        return self.layer(name + "/batch_norm", lambda: nn.BatchNorm2d(outputs, **norm))(x)

    def squeeze_excite(self, name, x, squeezed, activation, gate):
        means = activation(self.dense(name + "/squeeze", global_pool(x), squeezed))
        return x * gate(self.dense(name + "/excite", means, x.shape[1]))[:, :, None, None]

    def hidden(self, name, x, units):
        return functional.relu(self.dense(name, x, self.limit(units)), inplace=True)

    def dense(self, name, x, units):
        return self.layer(name, lambda: nn.Linear(x.shape[1], units))(x)

    def dropout(self, x):
        return functional.dropout(x, self.settings["dropout"], self.training)

    def classifier(self, x, name="classifier"):
        return self.dense(name, x, self.settings["classes"])

    def named_tensors(self):
        """(our name, tensor, whether it is a parameter, how ours is made of it)."""
        same = lambda t: t
        for name, layer in self.layers.items():
            if isinstance(layer, nn.Conv2d):
                yield name + "/weights", layer.weight, True, lambda t: t.permute(0, 2, 3, 1)
                if layer.bias is not None:
                    yield name.removesuffix("/conv") + "/bias/values", layer.bias, True, same
            elif isinstance(layer, nn.BatchNorm2d):
                yield name + "/gamma", layer.weight, True, same
                yield name + "/beta", layer.bias, True, same
                yield name + "/running_mean", layer.running_mean, False, same
                yield name + "/running_variance", layer.running_var, False, same
            else:
                yield name + "/matmul/weights", layer.weight, True, lambda t: t.t()
                yield name + "/bias/values", layer.bias, True, same


def divisible(channels, divisor):
    nearest = max(1, int(channels / divisor + 0.5)) * divisor
    return nearest + divisor if nearest < 0.9 * channels else nearest


def flatten(x):
    """As NHWC has it."""
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)


def global_pool(x):
    return x.mean((2, 3))


def mini_inception(net, x):

    def block(name, x, one, two, three, four):
        third = net.conv(name + "3_3x3a", net.conv(name + "3_1x1", x, three[0], 1), three[1], 3, padding=1)
        return torch.cat([
            net.conv(name + "1_1x1", x, one, 1),
            net.conv(name + "2_3x3", net.conv(name + "2_1x1", x, two[0], 1), two[1], 3, padding=1),
            net.conv(name + "3_3x3b", third, three[2], 3, padding=1),
            net.conv(name + "4_1x1", functional.avg_pool2d(x, 3, 1, 1), four, 1),
        ], 1)

    x = functional.max_pool2d(net.conv("stem", x, 32, 3, padding=1), 2)
    x = functional.max_pool2d(block("a", x, 32, (24, 32), (16, 24, 24), 16), 2)
    x = block("b", x, 64, (48, 96), (32, 48, 48), 48)
    return net.classifier(net.dropout(global_pool(x)))


def conv_stack(net, x):
    x = net.conv("stem", x, 128, 3, padding=1)
    for layer in range(1, 9):
        x = net.conv(f"conv{layer}", x, 128, 3, padding=1)
    return net.classifier(global_pool(x))


def wide_mlp(net, x):
    x = flatten(x)
    for layer in range(1, 5):
        x = net.hidden(f"dense{layer}", x, 4096)
    return net.classifier(x)


def inception_v3(net, x):

    def same(name, x, channels, kernel):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        return net.conv(name, x, channels, kernel, padding=(kernel[0] // 2, kernel[1] // 2))

    def average(x):
        return functional.avg_pool2d(x, 3, 1, 1, count_include_pad=net.settings.get("count_padding", False))

    def halving_pool(x):
        return functional.max_pool2d(x, 3, 2)

    def block_a(n, x, pool):
        third = same(n + "3_3x3a", same(n + "3_1x1", x, 64, 1), 96, 3)
        return torch.cat([
            same(n + "1_1x1", x, 64, 1),
            same(n + "2_5x5", same(n + "2_1x1", x, 48, 1), 64, 5),
            same(n + "3_3x3b", third, 96, 3),
            same(n + "4_1x1", average(x), pool, 1)
        ], 1)

    def block_b(n, x):
        second = same(n + "2_3x3a", same(n + "2_1x1", x, 64, 1), 96, 3)
        return torch.cat([
            net.conv(n + "1_3x3", x, 384, 3, 2),
            net.conv(n + "2_3x3b", second, 96, 3, 2),
            halving_pool(x)
        ], 1)

    def block_c(n, x, channels):
        second = same(n + "2_1x7", same(n + "2_1x1", x, channels, 1), channels, (1, 7))
        third = same(n + "3_7x1a", same(n + "3_1x1", x, channels, 1), channels, (7, 1))
        third = same(n + "3_7x1b", same(n + "3_1x7a", third, channels, (1, 7)), channels, (7, 1))
        return torch.cat([
            same(n + "1_1x1", x, 192, 1),
            same(n + "2_7x1", second, 192, (7, 1)),
            same(n + "3_1x7b", third, 192, (1, 7)),
            same(n + "4_1x1", average(x), 192, 1)
        ], 1)

    def block_d(n, x):
        second = same(n + "2_1x7", same(n + "2_1x1", x, 192, 1), 192, (1, 7))
        second = same(n + "2_7x1", second, 192, (7, 1))
        return torch.cat([
            net.conv(n + "1_3x3", same(n + "1_1x1", x, 192, 1), 320, 3, 2),
            net.conv(n + "2_3x3", second, 192, 3, 2),
            halving_pool(x)
        ], 1)

    def block_e(n, x, max_pool=False):

        def both_ways(branch, x):
            return torch.cat([same(n + branch + "_1x3", x, 384, (1, 3)), same(n + branch + "_3x1", x, 384, (3, 1))], 1)

        pooled = functional.max_pool2d(x, 3, 1, 1) if max_pool else average(x)
        return torch.cat([
            same(n + "1_1x1", x, 320, 1),
            both_ways("2", same(n + "2_1x1", x, 384, 1)),
            both_ways("3", same(n + "3_3x3", same(n + "3_1x1", x, 448, 1), 384, 3)),
            same(n + "4_1x1", pooled, 192, 1)
        ], 1)

    def auxiliary_head(x):
        x = functional.avg_pool2d(x, min(5, x.shape[2]), 3)
        x = net.conv("auxiliary/1x1", x, 128, 1)
        x = net.conv("auxiliary/5x5", x, 768, min(5, x.shape[2]))
        net.further.append((net.classifier(global_pool(x), "auxiliary/classifier"), 0.4))

    x = net.conv("stem/conv1", x, 32, 3, 2)
    x = net.conv("stem/conv2", x, 32, 3)
    x = halving_pool(same("stem/conv3", x, 64, 3))
    x = net.conv("stem/conv4", x, 80, 1)
    x = halving_pool(net.conv("stem/conv5", x, 192, 3))
    for name, pool in (("mixed_5b/", 32), ("mixed_5c/", 64), ("mixed_5d/", 64)):
        x = block_a(name, x, pool)
    x = block_b("mixed_6a/", x)
    for name, channels in (("mixed_6b/", 128), ("mixed_6c/", 160), ("mixed_6d/", 160), ("mixed_6e/", 192)):
        x = block_c(name, x, channels)
    if net.settings.get("auxiliary_head"):
        auxiliary_head(x)
    x = block_d("mixed_7a/", x)
    x = block_e("mixed_7b/", x)
    x = block_e("mixed_7c/", x, net.settings.get("last_pool") == "max")
    return net.classifier(net.dropout(global_pool(x)))


def resnet_50(net, x):

    def bottleneck(n, x, channels, stride, project):
        y = net.conv(n + "/1_1x1", x, channels, 1)
        y = net.conv(n + "/2_3x3", y, channels, 3, stride, 1)
        y = net.conv(n + "/3_1x1", y, 4 * channels, 1, relu=False)
        if project:
            x = net.conv(n + "/around", x, 4 * channels, 1, stride, relu=False)
        return functional.relu(y + x, inplace=True)

    x = functional.max_pool2d(net.conv("stem", x, 64, 7, 2, 3), 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            x = bottleneck(f"stage{stage + 1}/{'abcdef'[block]}", x, 64 << stage, stride, block == 0)
    return net.classifier(net.dropout(global_pool(x)))


def alexnet(channels, stem_padding):

    def body(net, x):
        x = functional.max_pool2d(net.conv("conv1", x, channels[0], 11, 4, stem_padding), 3, 2)
        x = functional.max_pool2d(net.conv("conv2", x, channels[1], 5, padding=2), 3, 2)
        for layer in (3, 4, 5):
            x = net.conv(f"conv{layer}", x, channels[layer - 1], 3, padding=1)
        x = flatten(functional.max_pool2d(x, 3, 2))
        x = net.hidden("dense1", net.dropout(x), 4096)
        return net.classifier(net.hidden("dense2", net.dropout(x), 4096))

    return body


def vgg_16(net, x):
    for block, (convolutions, channels) in enumerate(zip((2, 2, 3, 3, 3), (64, 128, 256, 512, 512)), 1):
        for conv in range(1, convolutions + 1):
            x = net.conv(f"block{block}/conv{conv}", x, channels, 3, padding=1)
        x = functional.max_pool2d(x, 2)
    x = net.dropout(net.hidden("dense1", flatten(x), 4096))
    return net.classifier(net.dropout(net.hidden("dense2", x, 4096)))


def mobilenet_v3_large(net, x):
    blocks = [(3, 16, 16, False, "relu", 1), (3, 64, 24, False, "relu", 2), (3, 72, 24, False, "relu", 1),
              (5, 72, 40, True, "relu", 2), (5, 120, 40, True, "relu", 1), (5, 120, 40, True, "relu", 1),
              (3, 240, 80, False, "swish", 2), (3, 200, 80, False, "swish", 1), (3, 184, 80, False, "swish", 1),
              (3, 184, 80, False, "swish", 1), (3, 480, 112, True, "swish", 1), (3, 672, 112, True, "swish", 1),
              (5, 672, 160, True, "swish", 2), (5, 960, 160, True, "swish", 1), (5, 960, 160, True, "swish", 1)]

    def bottleneck(n, x, before, kernel, expanded, channels, squeezes, activation, stride):
        act = functional.relu if activation == "relu" else functional.hardswish
        y = x if expanded == before else act(net.conv(n + "/expand", x, expanded, 1, relu=False))
        y = act(net.depthwise(n + "/depthwise", y, kernel, stride))
        if squeezes:
            y = net.squeeze_excite(n, y, divisible(y.shape[1] // 4, 8), functional.relu, functional.hardsigmoid)
        y = net.conv(n + "/project", y, channels, 1, relu=False)
        return y + x if stride == 1 and channels == before else y

    x = functional.hardswish(net.conv("stem", x, 16, 3, 2, 1, relu=False))
    for number, block in enumerate(blocks):
        x = bottleneck(f"block{number + 1}", x, blocks[number - 1][2] if number else 16, *block)
    x = functional.hardswish(net.conv("last", x, 960, 1, relu=False))
    x = functional.hardswish(net.dense("dense", global_pool(x), net.limit(1280)))
    return net.classifier(net.dropout(x))


def efficientnet_b0(net, x):
    stages = [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
              (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]

    def bottleneck(n, x, before, expansion, kernel, stride, channels):
        y = x if expansion == 1 else functional.silu(net.conv(n + "/expand", x, expansion * before, 1, relu=False))
        y = functional.silu(net.depthwise(n + "/depthwise", y, kernel, stride))
        y = net.squeeze_excite(n, y, max(1, x.shape[1] // 4), functional.silu, torch.sigmoid)
        y = net.conv(n + "/project", y, channels, 1, relu=False)
        return y + x if stride == 1 and channels == before else y

    x, before = functional.silu(net.conv("stem", x, 32, 3, 2, 1, relu=False)), 32
    for number, (expansion, kernel, stride, channels, blocks) in enumerate(stages):
        for block in range(blocks):
            x = bottleneck(f"stage{number + 1}/{'abcd'[block]}", x, before, expansion, kernel,
                           stride if block == 0 else 1, channels)
            before = channels
    x = functional.silu(net.conv("last", x, 1280, 1, relu=False))
    return net.classifier(net.dropout(global_pool(x)))


NORM = {"eps": 1e-3}
NETWORKS = {
    "mini-inception": (mini_inception, {**DEFAULTS, "norm": NORM, "dropout": 0.2, "smoothing": 0.05}),
    "conv-stack": (conv_stack, {**DEFAULTS, "norm": NORM}),
    "wide-mlp": (wide_mlp, DEFAULTS),
    "inception-v3": (inception_v3, {**IMAGENET, "image_size": 299, "norm": {"eps": 1e-3, "momentum": 0.004},
                                    "dropout": 0.2, "smoothing": 0.1}),
    "resnet-50": (resnet_50, {**IMAGENET, "norm": {"eps": 1e-5}}),
    "alexnet": (alexnet((64, 192, 384, 256, 256), 2), {**IMAGENET, "dropout": 0.5}),
    "alexnet-2012": (alexnet((96, 256, 384, 384, 256), 0), {**IMAGENET, "image_size": 227, "dropout": 0.5}),
    "vgg-16": (vgg_16, {**IMAGENET, "dropout": 0.5}),
    "mobilenet-v3-large": (mobilenet_v3_large, {**IMAGENET, "norm": {"eps": 1e-3, "momentum": 0.01}, "dropout": 0.2,
                                                "divisor": 8}),
    "efficientnet-b0": (efficientnet_b0, {**IMAGENET, "norm": {"eps": 1e-5}, "dropout": 0.2, "divisor": 8}),
}


CLASSES = {**sequences.NETWORKS, **transformer_networks.NETWORKS}
OF_PACKAGES = ("bert-base", "convnext-tiny", "swin-t", "t5-small", "unet")
NAMES = sorted([*NETWORKS, *CLASSES, *OF_PACKAGES])


def size(text):
    """NAME=NUMBER, as build_model has the flag."""
    name, number = text.split("=")
    return name, int(number)


def class_of(name):
    """None: it is in NETWORKS."""
    if name not in OF_PACKAGES:
        return CLASSES.get(name)
    import package_networks  # takes seconds, and the packages that the others need not have

    return package_networks.NETWORKS[name]


def settings_of(name):
    network = class_of(name)
    return network.DEFAULTS if network else NETWORKS[name][1]


def make(name, **changes):
    """With other settings than the model's; None: the model's."""
    network = class_of(name)
    settings = {**settings_of(name), **{key: value for key, value in changes.items() if value is not None}}
    return network(settings) if network else Network(name, NETWORKS[name][0], settings)
