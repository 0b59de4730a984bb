"""GPT-2 and the vision transformer in PyTorch, as tools/models has them, with tensors under the same names, and how they
are trained. They answer as networks.Network does."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention and a layer of four times the width, each behind a norm and beside a residual. One product makes
    queries, keys and values, which are three in ours."""

    def __init__(self, width, heads, epsilon, activation, causal, dropout):
        super().__init__()
        self.heads, self.causal, self.dropout, self.activation = heads, causal, dropout, activation
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.joined, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def drop(self, x):
        return functional.dropout(x, self.dropout, self.training)

    def attend(self, x):
        heads = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        query, key, value = (heads(y) for y in self.joined(x).chunk(3, -1))
        read = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.output(read.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.drop(self.attend(self.norm1(x)))
        return x + self.drop(self.down(self.activation(self.up(self.norm2(x)))))

    def initialize(self, last):
        """The last layer of each branch begins smaller."""
        with torch.no_grad():
            for layer, scale in ((self.joined, 0.02), (self.up, 0.02), (self.output, last), (self.down, last)):
                layer.weight.normal_(0, scale)
                layer.bias.zero_()

    def named_tensors(self, name):
        yield from norm_tensors(name + "/norm1", self.norm1)
        width = self.output.in_features
        for part, ours in enumerate(("query", "key", "value")):
            yield from dense_tensors(f"{name}/{ours}", self.joined, slice(part * width, (part + 1) * width))
        yield from dense_tensors(name + "/output", self.output)
        yield from norm_tensors(name + "/norm2", self.norm2)
        yield from dense_tensors(name + "/up", self.up)
        yield from dense_tensors(name + "/down", self.down)


def norm_tensors(name, norm):
    yield name + "/gain", norm.weight, True, lambda t: t
    yield name + "/offset", norm.bias, True, lambda t: t


def dense_tensors(name, dense, rows=slice(None)):
    yield name + "/weights", dense.weight, True, lambda t: t[rows].t()
    yield name + "/bias/values", dense.bias, True, lambda t: t[rows]


class Transformer(nn.Module):
    drawn = {}
    tables = ()
    # Gradients that are 0 but for rounding, from which Adam makes steps of the rate's size: a softmax does not see what
    # all of its scores have in common.
    vanishing = ("/key/bias/values",)

    def forget(self):
        """Nothing goes on from batch to batch."""

    def drop(self, x):
        return functional.dropout(x, self.settings["dropout"], self.training)


class Gpt2(Transformer):
    """The logits are products with the table of words."""

    DEFAULTS = {"vocabulary": 50_257, "length": 512, "positions": 1024, "hidden": 768, "layers": 12, "heads": 12,
                "dropout": 0.1}

    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        width, layers = settings["hidden"], settings["layers"]
        table = lambda rows: nn.Parameter(torch.empty(rows, width).normal_(0, 0.02))
        self.words, self.positions = table(settings["vocabulary"]), table(settings["positions"])
        gelu = lambda x: functional.gelu(x, approximate="tanh")
        self.blocks = nn.ModuleList([Block(width, settings["heads"], 1e-5, gelu, True, settings["dropout"])
                                     for _ in range(layers)])
        for block in self.blocks:
            block.initialize(last=0.02 / (2 * layers)**0.5)
        self.norm = nn.LayerNorm(width, 1e-5)

    def batches(self, count, batch):
        words = torch.randint(self.settings["vocabulary"], (count, batch, self.settings["length"] + 1))
        return [{"ids": each[:, :-1], "targets": each[:, 1:]} for each in words]

    def to_ours(self, batch, dtype):
        ids, targets = (batch[name].int().contiguous() for name in ("ids", "targets"))
        return {"ids": ids, "targets": targets, "weights": torch.ones(ids.shape, dtype=dtype)}

    def loss(self, ids, targets):
        x = self.drop(functional.embedding(ids, self.words) + self.positions[:ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.words)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def named_tensors(self):
        yield "words/table", self.words, True, lambda t: t
        yield "positions/table", self.positions, True, lambda t: t
        for i, block in enumerate(self.blocks, 1):
            yield from block.named_tensors(f"block{i}")
        yield from norm_tensors("norm", self.norm)

    def recipe(self, batch, rate=1.0, clip_norm=1.0):
        decays = lambda name: not name.endswith("bias") and "norm" not in name
        return AdamWTraining(self, rate * 6e-4, (0.9, 0.95), 0.1, decays, clip_norm)


class VisionTransformer(Transformer):
    """Patches of a picture behind a token for its class, which the logits read."""

    DEFAULTS = {"image_size": 224, "patch": 16, "classes": 1000, "hidden": 768, "layers": 12, "heads": 12, "dropout": 0.0,
                "smoothing": 0.11}

    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        width, patch = settings["hidden"], settings["patch"]
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, width))
        places = (settings["image_size"] // patch)**2 + 1
        self.positions = nn.Parameter(torch.empty(places, width).normal_(0, 0.02))
        self.blocks = nn.ModuleList([Block(width, settings["heads"], 1e-6, functional.gelu, False, settings["dropout"])
                                     for _ in range(settings["layers"])])
        for block in self.blocks:
            block.initialize(last=0.02)
        self.norm, self.logits = nn.LayerNorm(width, 1e-6), nn.Linear(width, settings["classes"])

    def batches(self, count, batch):
        size = self.settings["image_size"]
        images = torch.randn(count, batch, 3, size, size)
        labels = torch.randint(self.settings["classes"], (count, batch))
        return [{"images": images[i].to(memory_format=torch.channels_last), "labels": labels[i]} for i in range(count)]

    def to_ours(self, batch, dtype):
        return {"images": batch["images"].to(dtype).permute(0, 2, 3, 1).contiguous(), "labels": batch["labels"].int()}

    def loss(self, images, labels):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.to(x.dtype).expand(len(x), 1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = self.logits(self.norm(x)[:, 0])
        return functional.cross_entropy(logits, labels, label_smoothing=self.settings["smoothing"])

    def named_tensors(self):
        yield "patches/conv/weights", self.patches.weight, True, lambda t: t.permute(0, 2, 3, 1)
        yield "patches/bias/values", self.patches.bias, True, lambda t: t
        yield "class/token", self.token, True, lambda t: t
        yield "positions/table", self.positions, True, lambda t: t
        for i, block in enumerate(self.blocks, 1):
            yield from block.named_tensors(f"block{i}")
        yield from norm_tensors("norm", self.norm)
        yield from dense_tensors("logits", self.logits)

    def recipe(self, batch, rate=1.0, clip_norm=1.0):
        return AdamWTraining(self, rate * 0.003 * batch / 4096, (0.9, 0.999), 0.3, lambda _: True, clip_norm)


class AdamWTraining:
    """`decays`: which parameters' weights decay, by name. `clip_norm`: 0: gradients are not clipped. The schedule of ours
    hardly changes the first rates."""

    def __init__(self, net, rate, betas, decay, decays, clip_norm, epsilon=1e-8):
        self.clip_norm = clip_norm
        self.parameters = list(net.parameters())
        groups = [{"params": [p for name, p in net.named_parameters() if decays(name) == which], "weight_decay": of_group}
                  for which, of_group in ((True, decay), (False, 0.0))]
        on_gpu = self.parameters[0].is_cuda  # a captured step needs `capturable`; one launch for all is the fastest
        self.optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=rate, betas=betas, eps=epsilon,
                                           fused=on_gpu, capturable=on_gpu)

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def update(self):
        if self.clip_norm > 0:
            gradients = [p.grad for p in self.parameters]
            self.norm = nn.utils.get_total_norm(gradients)
            torch._foreach_mul_(gradients, (self.clip_norm / self.norm).clamp(max=1))
        self.optimizer.step()

    def follow_schedule(self):
        """The rate is constant here."""


NETWORKS = {"gpt2": Gpt2, "vit-b-16": VisionTransformer}
