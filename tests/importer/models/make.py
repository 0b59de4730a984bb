"""Makes the exported programs of this folder, and what PyTorch computes with them: `python3 make.py` in an environment
with torch and safetensors. All in f64, with weights of a fixed seed, so that the tests compare every digit.

FILE.pt2            what torch.export.save writes: a module that returns its loss
FILE.safetensors    in/NAME: a batch; loss; gradient/PARAMETER: of that batch; running/BUFFER: after it
"""

import json
import os
import zipfile

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn

BATCH = 5


class Residual(nn.Module):
    """Convolutions with norms, a gate of channels, and pools of all kinds."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block = nn.Conv2d(8, 8, 3, padding="same", bias=False)
        self.block_norm = nn.BatchNorm2d(8, eps=1e-3, momentum=0.01)
        self.squeeze = nn.Linear(8, 4)
        self.excite = nn.Conv2d(4, 8, 1)
        self.down = nn.Conv2d(8, 6, 1)
        self.head = nn.Linear(6 * 2 * 2 + 8, 7)

    def forward(self, image):
        x = self.pool(F.relu(self.norm(self.stem(image)), inplace=True))
        y = self.block_norm(self.block(x))
        gate = F.silu(self.squeeze(F.adaptive_avg_pool2d(y, 1).flatten(1)))
        x = torch.relu_(x + y * torch.sigmoid(self.excite(gate.view(-1, 4, 1, 1))))
        pooled = x.mean((2, 3))
        x = F.avg_pool2d(self.down(x), 2)
        return self.head(torch.cat((x.flatten(1), 0.5 * pooled - 1), 1))


class Blocks(nn.Module):
    """Permutes around layer norms, as ConvNeXt has them."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.norm = nn.LayerNorm(8, eps=1e-6)
        self.up, self.down = nn.Linear(8, 12), nn.Linear(12, 8)
        self.scale = nn.Parameter(torch.full((8,), 0.7))
        self.head = nn.Linear(8, 7)

    def forward(self, image):
        x = self.patches(image)
        y = self.norm(x.permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        x = x + y.permute(0, 3, 1, 2)
        return self.head(x.mean((-2, -1)))


class Transformer(nn.Module):
    """Patches with a class token, and attention of two heads."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 8) * 0.1)
        self.places = nn.Parameter(torch.randn(1, 17, 8) * 0.1)
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.head = nn.Linear(8, 7)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (t.view(t.shape[0], 17, 2, 4).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape[0], 17, 8))
        return self.head(x[:, 0])


class Activations(nn.Module):
    """Functions of single elements, numbers among their operands, and writes in place."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 9), nn.Linear(9, 7)

    def forward(self, x):
        x = self.first(x)
        y = F.leaky_relu(x, 0.2) + F.hardtanh(x) * F.relu6(3 * x + 2) - F.hardswish(x)
        # The gradient of PyTorch's hardsigmoid has 1/6 rounded to f32.
        y = y + F.hardsigmoid(x.detach()) / 0.7 + torch.clamp(x, -0.4, 0.9) + torch.clamp(x, min=0.1) + abs(x)
        y = y + torch.tanh(x) ** 2 + (1 + x.exp()).log() + (x * x + 0.5).rsqrt() + (2 - torch.sigmoid(x)).reciprocal()
        z = y.view(-1, 9)
        z.add_(0.25)
        return self.head(F.gelu(z, approximate="tanh").sum(-1, keepdim=True) * z)


class Windows(nn.Module):
    """Windows of rows and columns, whose transposition has six dimensions; and a convolution of one dimension."""

    def __init__(self):
        super().__init__()
        self.patches, self.inner = nn.Conv2d(3, 6, 2, 2), nn.Linear(6, 6)
        self.gate, self.head = nn.Conv1d(1, 1, 3, padding=1, bias=False), nn.Linear(12, 7)

    def forward(self, image):
        x = self.patches(image).permute(0, 2, 3, 1)
        x = x.view(-1, 2, 4, 2, 4, 6).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 6)
        x = F.softmax(self.inner(x), 1) * x
        x = x.view(-1, 2, 2, 4, 4, 6).permute(0, 1, 3, 2, 4, 5).reshape(-1, 8, 8, 6)
        x = F.avg_pool2d(x.permute(0, 3, 1, 2), 2, ceil_mode=True, count_include_pad=False).mean((2, 3))
        gate = torch.sigmoid(self.gate(x.unsqueeze(1)).squeeze(1))
        return self.head(torch.stack((x * gate, x), 1).flatten(1))


class Language(nn.Module):
    """A table tied to the classifier, causal attention by products and a softmax."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 8)
        self.qkv, self.out = nn.Linear(8, 24, bias=False), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, words):
        x = self.table(words)
        q, k, v = self.qkv(x).split(8, 2)
        q, k, v = (t.view(-1, 6, 2, 4).permute(0, 2, 1, 3) for t in (q, k, v))
        scores = torch.softmax(q @ k.transpose(-2, -1) / 2.0, -1)
        x = x + self.out((scores @ v).transpose(1, 2).flatten(2))
        return self.norm(x) @ self.table.weight.t()


class Trained(nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.__dict__["loss"] = model, loss

    def forward(self, x, label):
        return self.loss(self.model(x), label)


def classes(logits, label):
    return F.cross_entropy(logits, label, label_smoothing=0.1)


def words(logits, label):
    return F.cross_entropy(logits.transpose(1, 2), label)


def make(name, model, loss, x, label):
    torch.manual_seed(7)
    module = Trained(model(), loss).double().train()
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(module, (x, label), dynamic_shapes={"x": {0: batch}, "label": {0: batch}})
    torch.export.save(program, name + ".pt2")
    value = module(x, label)
    value.backward()
    tensors = {"in/x": x, "in/label": label, "loss": value.detach().reshape(1)}
    tensors |= {"gradient/" + n: p.grad for n, p in module.named_parameters()}
    tensors |= {"running/" + n: b for n, b in module.named_buffers() if b.is_floating_point()}
    tensors = {n: (t.int() if t.dtype == torch.int64 else t).contiguous() for n, t in tensors.items()}
    safetensors.torch.save_file(tensors, name + ".safetensors")


class Spectrum(nn.Module):
    """An op that nobody translates, twice."""

    class Half(nn.Module):
        def forward(self, x):
            return torch.fft.fft(x).real

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = self.Half(), self.Half(), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.first(x) + self.second(x))


def export(name, module, *example):
    torch.export.save(torch.export.export(module, example), name + ".pt2")


def members(name):
    with zipfile.ZipFile(name) as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def write(name, entries, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(name, "w", compression) as archive:
        for member, content in entries:
            archive.writestr(member, content)


def make_refused():
    small, label = torch.randn(3, 4), torch.randint(0, 3, (3,))
    export("logits", nn.Linear(4, 3), small)
    export("unknown", Trained(Spectrum(), F.cross_entropy), small, label)
    norm = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval()
    export("evaluation", Trained(norm, F.cross_entropy), small, label)
    whole = members("logits.pt2")
    program = next(name for name in whole if name.endswith("models/model.json"))
    few = [(program, whole[program])]
    write("compressed.pt2", few, zipfile.ZIP_DEFLATED)
    write("outside.pt2", [*few, ("logits/../../escaped", b"x")])
    write("twice.pt2", [*few, *few])
    write("checkpoint.pt2", [("checkpoint/data.pkl", b"x"), ("checkpoint/version", b"3")])
    write("deep.pt2", [(program, b'{"a":' * 100 + b"1" + b"}" * 100)])
    old = json.loads(whole[program])
    old["schema_version"], old["torch_version"] = {"major": 5, "minor": 1}, "2.3.0"
    write("version.pt2", [(program, json.dumps(old))])


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    torch.manual_seed(3)
    image, label = torch.randn(BATCH, 3, 16, 16).double(), torch.randint(0, 7, (BATCH,))
    make("activations", Activations, classes, torch.randn(BATCH, 6).double(), label)
    make("residual", Residual, classes, image, label)
    make("blocks", Blocks, classes, image, label)
    make("windows", Windows, classes, image, label)
    make("transformer", Transformer, classes, image, label)
    make("language", Language, words, torch.randint(0, 11, (BATCH, 6)), torch.randint(0, 11, (BATCH, 6)))
    make_refused()


if __name__ == "__main__":
    main()
