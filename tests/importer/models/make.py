"""Makes the exported programs of this folder, those in refused/ that are none, and what PyTorch computes with them:
`python3 make.py` in an environment with torch and safetensors. All in f64, with weights of a fixed seed, so that the
tests compare every digit.

FILE.pt2            what torch.export.save writes: a module that returns its loss
FILE.safetensors    in/NAME: a batch; loss; gradient/PARAMETER: of that batch; running/BUFFER: after it

Those in functions/ have ops and losses that few models have. Those in predictions/ return predictions;
FILE.LOSS.safetensors is the same with that loss of them. FILE.wide.safetensors is of a larger batch than the example.
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


class Masked(nn.Module):
    """Masks as transformers builds them: of places, of words that are padding, learned biases of relative places, and
    labels that are shifted here."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(11, 8, padding_idx=0), nn.Embedding(9, 8)
        self.relative = nn.Parameter(torch.randn(2, 11) * 0.3)
        self.rows = nn.Embedding(11, 2)
        self.register_buffer("nearness", (torch.arange(6)[:, None] - torch.arange(6)[None]).abs(), persistent=False)
        self.register_buffer("scale", torch.tensor([0.5, 2.0]))
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.head = nn.Linear(8, 11)

    def attend(self, x, mask):
        q, k, v = (t.view(-1, 6, 2, 4).transpose(1, 2) for t in self.qkv(x).split(8, 2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.4)
        return x + self.out(y.transpose(1, 2).flatten(2))

    def forward(self, words):
        n, length = words.shape
        x = self.table(words) + self.places(torch.arange(length, device=words.device) + 2)
        segments = torch.zeros(length, dtype=torch.long).expand(n, length)
        x = x + self.places(segments)
        # Causal: places of queries and keys compared, for every sample.
        at = torch.arange(length)
        causal = (at[None, :] <= at[:, None])[None, None].expand(n, -1, -1, -1)
        x = self.attend(x, causal)
        # Words that are padding: the mask is indexed by samples and places, and joined with the causal one.
        seen = (words != 0).to(torch.bool)
        samples = torch.arange(n)[:, None, None, None]
        padded = seen[samples, at[None, None, None, :]] & causal
        x = self.attend(x, padded)
        # A learned bias of relative places, by indices of a parameter and by a table; near places only.
        index = at[:, None] - at[None, :] + 5
        bias = self.relative[:, index] * self.scale.view(2, 1, 1) + self.rows(index).permute(2, 0, 1)
        far = self.nearness > 3
        bias = bias.masked_fill(far, float("-inf"))
        x = self.attend(x, bias.unsqueeze(0))
        x = self.attend(x, torch.zeros(length, length).masked_fill(far, float("-inf")).double())
        # Means over the words that are not padding.
        weights = seen.to(x.dtype).unsqueeze(-1)
        x = x + ((x * weights).sum(1) / weights.sum(1).clamp(min=1)).unsqueeze(1)
        return self.head(torch.where(seen.unsqueeze(-1), x, 0.5 * x))


class Sizes(nn.Module):
    """Images that grow and shrink: resizing, transposed convolutions, padding, shifted windows, group norms."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2)
        self.group, self.instance = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.up, self.wide = nn.ConvTranspose2d(4, 4, 2, 2), nn.ConvTranspose2d(4, 4, 4, 2, 1, output_padding=1)
        self.weight = nn.Parameter(torch.randn(4, 4, 3, 3) * 0.3)
        self.gain = nn.Parameter(torch.randn(4) * 0.3 + 1)
        self.line = nn.BatchNorm1d(4)
        self.head = nn.Linear(4 * 6, 7)

    def forward(self, image):
        x = self.group(self.stem(F.pad(image, (1, 2, 0, 1))))
        up = self.instance(self.up(x))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False) + 0.5 * up
        x = x + F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:], mode="nearest")
        x = x + F.interpolate(F.avg_pool2d(x, 4), size=x.shape[2:], mode="bicubic", align_corners=True)
        x = torch.roll(x, (-3, 2), (2, 3)).flip(3)
        # Weights that are standardized before they are used.
        weight = F.batch_norm(self.weight.reshape(1, 4, -1), None, None, weight=self.gain * 0.2, training=True, eps=1e-6)
        x = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), weight.reshape_as(self.weight))
        x = self.wide(x)[:, :, 1::3, ::2]
        x = self.line(x.flatten(2)).view(x.shape)
        return self.head(F.adaptive_avg_pool2d(x, (3, 2)).flatten(1))


class Statistics(nn.Module):
    """Reductions, and functions of them."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 12), nn.Linear(12, 7)

    def forward(self, x):
        x = self.first(x)
        y = x.view(-1, 3, 4)
        z = (y - y.mean(2, keepdim=True)) / (y.std(2, keepdim=True) + 0.1) + y.var((1, 2), correction=0, keepdim=True)
        z = z + F.softplus(y) - F.elu(y, 0.7) + y.amax((1, 2), keepdim=True) - y.min(2, keepdim=True)[0]
        z = z + y.cumsum(1) / (torch.linalg.vector_norm(y, dim=2, keepdim=True) + 1) + F.normalize(y, p=1, dim=1)
        z = z + y.repeat(1, 2, 1)[:, 1:4] + torch.minimum(y, 0.5 * z) ** 3 + torch.addcmul(y, z, y, value=0.3)
        return self.head(z.flatten(1) + torch.arange(12, dtype=torch.float64).cos())


class Written(nn.Module):
    """Ops that write into their operand are what they are without the underscore; and what is written into a part of a
    tensor is seen in the whole, and in what is read of it afterwards."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 12), nn.Linear(12, 7)

    def forward(self, x):
        y = self.first(x).view(-1, 3, 4)
        z = (y * y + 1).rsqrt_() + (y * y + 2).reciprocal_() + (2 * y).addcdiv_(y, y * y + 1, value=0.5)
        z = z + F.hardswish(2 * y, inplace=True) + (3 * y).tril_() + (y + 1).addcmul_(y, y) + (y * 3).clamp_(-1, 2)
        kept = z.clone()
        kept[:, 1] = 2 * kept[:, 0]
        kept[:, :, 1:3].mul_(0.5)
        kept[:, 2, 3] = 0.25
        w = kept.detach().clone()
        w.copy_(y)
        return self.head((kept * w).flatten(1))


class Tuned(nn.Module):
    """A body in evaluation, of which nothing is trained but a norm's weights, and a head."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8)
        self.block, self.block_norm = nn.Conv2d(8, 6, 3, padding=1), nn.BatchNorm2d(6, eps=1e-3)
        self.flat_norm = nn.BatchNorm1d(6)
        self.head = nn.Linear(6, 7)
        for norm in (self.norm, self.block_norm, self.flat_norm):
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
        for part in (self.stem, self.block, self.norm, self.flat_norm):
            part.requires_grad_(False)
        self.head.bias.requires_grad_(False)

    def train(self, mode=True):
        return super().train(False)

    def forward(self, image):
        x = F.relu(self.norm(self.stem(image)))
        x = F.relu(self.block_norm(self.block(x)))
        return self.head(self.flat_norm(x.mean((2, 3))))


class Padded(nn.Module):
    """A row of padding that is not zeros and is trained by the head that shares it; attention as torch.nn has it."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 6, padding_idx=2)
        nn.init.normal_(self.table.weight)
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, words):
        x = self.table(words)
        y = self.attention(x, x, x, need_weights=False)[0]
        return y @ self.table.weight.T, y


class Functions(nn.Module):
    """Functions of single elements that Activations does not have, powers, rounding and remainders."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 9), nn.Linear(9, 7)

    def forward(self, x):
        x = 2 * self.first(x)
        y = torch.log1p(abs(x)) + torch.expm1(x / 3) + torch.erf(x) - torch.erfc(x) + torch.tan(x / 4)
        y = y + torch.log2(1 + x * x) + torch.log10(1 + x * x) + torch.exp2(x / 2)
        y = y + F.celu(x, 0.5) + F.threshold(x, 0.1, 2) + F.hardshrink(x, 0.3) + F.softshrink(x, 0.2)
        y = y + F.softplus(x, beta=2) + x ** 5 / 9 + abs(x) ** 1.5 + 2 ** (x / 3) + F.relu(x) ** 2.2 + (x * x + 1) ** -1.7
        y = y + (x * x + 1) ** torch.sin(x) + x ** 0 + torch.logaddexp(x, -2 * x) + torch.lerp(x, y, 0.3)
        whole = torch.round(x) + torch.floor(x) * 2 - torch.ceil(x) + torch.trunc(x) * 3 + torch.frac(x) + torch.sign(x)
        y = y + whole * x + torch.remainder(x, 0.7) + torch.fmod(x, -0.6) + torch.remainder(y, x.detach())
        y = y + torch.div(x.detach(), 0.4, rounding_mode="trunc") * x + torch.floor_divide(x.detach(), 0.3) * x
        return self.head(y / 8)


class Chosen(nn.Module):
    """Comparisons of floats, choices whose other side is not finite, ties, places of the largest, and blocks without
    gradients."""

    def __init__(self):
        super().__init__()
        self.first, self.head, self.guide = nn.Linear(6, 9), nn.Linear(9, 7), nn.Linear(6, 9)

    def forward(self, x):
        y = self.first(x)
        with torch.no_grad():
            guide = self.guide(x)
            center = (y + guide).mean(0, keepdim=True)
        with torch.autocast("cpu", enabled=False):
            y = y - 0.3 * center
        y = torch.where(y > guide, y, 0.5 * guide) + y * (y <= 0.1) + (y >= center) * y - (y < 0.2).to(y.dtype) * y
        y = y + torch.where(guide > 0, guide.log(), torch.zeros_like(y)) * y  # the logarithm of what is below 0 is NaN
        attended = torch.softmax(y.masked_fill(guide < -1, float("-inf")), 1)
        y = y + attended * ((x > 0).any(1, keepdim=True) ^ (x < 1).all(1, keepdim=True))
        y = y + torch.nan_to_num(guide / guide.relu()).clamp(-2, 3) * y + torch.clamp(y, guide - 1, guide + 1)
        tied = torch.cat((F.relu(y), torch.zeros_like(y)), 1).view(-1, 6, 3)
        y = y + tied.amax((1, 2), keepdim=True).flatten(1) + (-tied).amin(1).repeat(1, 3)
        largest, at = y.max(1, keepdim=True)
        y = y + 0.1 * largest * at + y.argmin(1)[:, None] * y * 0.01
        y = y + 2 * y.gather(1, at) - y[torch.arange(x.shape[0]), at[:, 0]][:, None]
        y = y + F.normalize(F.relu(y - 2)) + (y * (y > 9)).std(1, keepdim=True) + y.var(0) / y.std(0).sum()
        return self.head(y + F.layer_norm(y.view(-1, 3, 3), (3, 3)).flatten(1)), self.guide.weight.abs().max()


class OfBatch(nn.Module):
    """Constants of all samples where they are mixed, sizes of the batch as numbers, and steps of cells."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 9), nn.Linear(9, 7)
        self.memory, self.gate = nn.LSTMCell(6, 9), nn.GRUCell(6, 9)

    def forward(self, x):
        n, y = x.shape[0], self.first(x)
        y = y + torch.zeros(n, 9, dtype=x.dtype).softmax(0) + torch.ones_like(y).t().flip(0).t() * y
        y = y + torch.ones(n, 9, dtype=x.dtype).sum() * 0.1 + y.pow(2).sum() / torch.tensor(n) + y[:1].pow(2).mean()
        y = y * torch.cat([torch.ones(n, 4), torch.zeros(n, 5)], 1) + y * ((y > 0) + (y > 0.2))
        y = y + torch.max(y, x.repeat(1, 2)[:, :9]) + torch.min(y, 0.5 * y) * torch.isfinite(1 / x[:, :1].round())
        h = c = g = torch.zeros(n, 9, dtype=x.dtype)
        for place in range(2):
            h, c = self.memory(x * (place + 1), (h, c))
            g = self.gate(x, g + h)
        return self.head(y + h * c + g)


class Pairs(nn.Module):
    """Two views of each sample, and a temperature."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 7), nn.Linear(6, 7)
        self.scale = nn.Parameter(torch.tensor([0.3]))

    def forward(self, x):
        return F.normalize(self.first(x), dim=1), F.normalize(self.second(x), dim=1), self.scale.exp()


class Ordered(nn.Module):
    """Elements in their order, products, norms, places that are written, and inverse functions."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 9), nn.Linear(9, 7)
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, 9))

    def forward(self, x):
        y = self.first(x)
        largest, at = y.topk(3)
        y = y + 0.1 * (largest * at).sum(1, keepdim=True) + y.topk(2, largest=False)[0].prod(1, keepdim=True)
        y = y + y.sort(1)[0] * self.weight + y.view(-1, 3, 3).sort(1, descending=True)[0].flatten(1)
        y = y + torch.zeros_like(y).scatter_(1, at, 1.0) * y + y.scatter_add(1, at, largest.exp()) * 0.1
        y = y + y.scatter(1, at[:, :1], largest[:, 1:2]) * 0.2 + torch.outer(y[:, 0], self.weight)
        y = F.layer_norm(y, (9,))
        z = torch.tanh(y)
        y = y + torch.cosh(z) + torch.sinh(z) * 2 + torch.atan(y) + torch.asin(z * 0.9) - torch.acos(z * 0.8)
        y = y + torch.asinh(y) + torch.acosh(1.5 + z * z) + torch.atanh(z * 0.9)
        y = F.layer_norm(y, (9,))
        zeros = F.relu(y - 2)  # has rows of zeros
        for order in (0.5, 1, 3, float("inf"), float("-inf")):
            y = y + 0.1 * torch.linalg.vector_norm(y, ord=order, dim=1, keepdim=True)
        y = y + zeros.norm(p=3, dim=1, keepdim=True) + zeros.norm(p=1.5, dim=1, keepdim=True)
        y = y / torch.linalg.norm(self.first.weight) + torch.dot(self.weight, self.weight)
        y = y + torch.cdist(self.first.weight, self.head.weight[:, :6]).mean(1)
        kept = x[:, :1] > 0.5
        kept |= x[:, 1:2] > 0
        return self.head(y * kept + y / 2)


class Products(nn.Module):
    """Products of several operands, and an LSTM whose cells are read."""

    def __init__(self):
        super().__init__()
        self.memory = nn.LSTM(2, 5, num_layers=2, batch_first=True, bidirectional=True, proj_size=3)
        self.cells, self.both, self.head = nn.LSTM(6, 4, batch_first=True), nn.Bilinear(4, 6, 5), nn.Linear(5, 7)

    def forward(self, x):
        y, _ = self.memory(x.view(-1, 3, 2))
        z, (last, cells) = self.cells(y)
        mixed = torch.einsum("bti,ij,bsj->bts", y, self.cells.weight_hh_l0[:6, :2] @ self.head.weight[:2, :5].expand(2, 5)
                             @ torch.ones(5, 6, dtype=x.dtype), y)
        y = self.both(cells[0] + last[0] * z.mean(1), torch.einsum("bti->bi", y))
        return self.head(y + torch.einsum("bts,bs->b", mixed, y[:, :3])[:, None])


class Heads(nn.Module):
    """Attention over [places, samples, channels], and an LSTM over the same."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(2, 8), nn.Linear(8, 7)
        self.attention, self.memory = nn.MultiheadAttention(8, 2), nn.LSTM(8, 8)

    def forward(self, x):
        y = self.first(x.view(-1, 3, 2).transpose(0, 1))
        y = y + self.attention(y, y, y)[0]
        return self.head(self.memory(y)[0].reshape(-1, 8))


class OfExample(nn.Module):
    """What would be that of the example's batch in every other one."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        n, y = x.shape[0], self.head(x)
        y = y + y[-1] + (torch.eye(n) @ y) + torch.ones(n, n).sum(1)[:, None]
        return y.clamp(max=1 / n) + y.masked_fill(y > 0, n)


class Averaging(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.register_buffer("center", torch.zeros(3))

    def forward(self, x):
        y = self.head(x)
        result = y - self.center
        self.center.mul_(0.9).add_(y.detach().mean(0))
        return result


class Reading(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x) + self.norm.running_mean


class Sample(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 5), nn.Linear(5, 7)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class Positions(Language):
    def forward(self, x):
        return super().forward(x)


class Map(nn.Module):
    """Classes of each place of an image."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 7, 1)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class Trained(nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.__dict__["loss"] = model, loss

    def forward(self, x, label):
        return self.loss(self.model(x), label)


def classes(logits, label):
    return F.cross_entropy(logits, label, label_smoothing=0.1)


def shifted(logits, label):
    label = F.pad(label, (0, 1), value=-100)[:, 1:].contiguous()
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), label.view(-1), ignore_index=-100)


def several(logits, label):
    target = F.one_hot(torch.arange(7), 7).to(logits.dtype)[None, 3] * 0.5 + torch.sigmoid(logits).detach() * 0.5
    nll = F.nll_loss(F.log_softmax(logits, 1), label)
    parts = F.binary_cross_entropy_with_logits(logits, target) + F.smooth_l1_loss(logits, target, beta=0.5)
    return nll + parts + F.l1_loss(logits, target) + F.huber_loss(logits, target, delta=0.8, reduction="sum") / 30


class Edges(nn.Module):
    """Whole numbers, at which functions bend and bounds lie."""

    def __init__(self):
        super().__init__()
        self.scale, self.shift, self.head = nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6)), nn.Linear(6, 7)
        self.row = nn.Conv1d(1, 1, 4, padding="same")

    def forward(self, x):
        x = torch.round(x) * self.scale + self.shift
        low, high = torch.zeros(6, dtype=x.dtype), torch.ones(6, dtype=x.dtype)
        y = x.clamp(-1, 1) + 2 * x.clamp(min=0) + 3 * x.clamp(max=1) + x.clamp(0, 6) * x.clamp(low, high)
        y = y + F.hardtanh(x) * F.relu6(x + 1) + F.softshrink(x, 1) + x.clamp(low, low + 2 * self.shift + 2)
        y = y + F.softplus(x) + F.softplus(x, beta=2, threshold=1) + F.logsigmoid(x) * F.mish(x)
        y = y + torch.relu(x) ** torch.tensor([1, 2, 3, 2.5, 1.5, 2], dtype=x.dtype)
        y = self.row(0.1 * torch.rsub(y, torch.sgn(x) * x, alpha=-1).unsqueeze(1)).squeeze(1)
        weight = self.head.weight.t()
        return torch.addmm(torch.addmm(self.head.bias, y, weight, beta=0.5, alpha=2), y * y, weight, alpha=0.5)


class Places(nn.Module):
    """Rows and elements at places of three and four dimensions, which the inputs say."""

    def __init__(self):
        super().__init__()
        self.table, self.first, self.head = nn.Embedding(11, 4), nn.Linear(6, 12), nn.Linear(4, 7)

    def forward(self, x):
        values = self.first(x).view(-1, 3, 4)
        order = values.argsort(2)
        y = values.gather(2, order) * torch.arange(1, 5) + values.gather(1, order[:, [2, 0, 1]] % 3)
        both = torch.stack([order, 2 * order + 3], 3)  # [n, 3, 4, 2]
        return self.head((y.unsqueeze(3) * self.table(both).sum(3)).sum((1, 2)))


def of_zeros(logits, label):
    """Losses of logits that are 0, as those of a head that begins with zeros."""
    zeros, share = logits - logits.detach(), torch.softmax(logits.detach(), 1)
    loss = F.binary_cross_entropy_with_logits(zeros, share) + F.soft_margin_loss(zeros, 2 * share.round() - 1)
    return loss + F.cross_entropy(logits, label)


class Emptied(nn.Module):
    """Writes into the diagonal of what it reads behind that."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        scores = y.unsqueeze(1) * y.unsqueeze(2)
        scores.diagonal(dim1=1, dim2=2).fill_(0)
        return scores.sum(1)


def saturated(both, label):
    logits, y = both
    sure = F.binary_cross_entropy(torch.clamp(0.5 + 1.3 * y, 0, 1), torch.full_like(y, 0.75))  # of 0 and of 1 too
    return F.cross_entropy(logits.transpose(1, 2), label) + 0.001 * sure


def by_batch(logits, label):
    return F.cross_entropy(logits, label, reduction="sum") / (logits.shape[0] // 2 + 1)


def bounded(both, label):
    logits, most = both
    return F.cross_entropy(logits, label) + 0.1 * most


def of_classes(logits, label):
    """Losses of classes that are weighed, not reduced, or compared with probabilities."""
    weight = torch.linspace(0.5, 2, 7, dtype=logits.dtype)
    share = torch.softmax(logits.detach() * 2 + 1, 1)
    each = F.cross_entropy(logits, label, reduction="none")
    loss = F.cross_entropy(logits, label, weight=weight) + ((1 - torch.exp(-each)) ** 2 * each).mean()
    loss = loss + F.cross_entropy(logits, label, weight=weight, label_smoothing=0.1)
    loss = loss + F.cross_entropy(logits, label, weight=weight, ignore_index=2, reduction="sum") / logits.size(0)
    loss = loss + F.cross_entropy(logits, label, reduction="none", label_smoothing=0.2).sum() / logits.numel()
    loss = loss + F.cross_entropy(logits, share) + F.cross_entropy(logits, share, weight=weight, label_smoothing=0.3)
    loss = loss + F.nll_loss(torch.log(torch.softmax(logits, 1) + 1e-3), label)
    return loss - F.log_softmax(logits, 1).gather(1, label[:, None]).mean()


def of_numbers(logits, label):
    """Losses of numbers, and distances."""
    share, other = torch.softmax(logits.detach() + 0.3, 1), logits.detach().flip(1) + 0.2
    weight, sign = torch.linspace(0.5, 2, 7, dtype=logits.dtype), torch.sign(other[:, 0])
    loss = F.binary_cross_entropy_with_logits(logits, share, weight=weight, pos_weight=weight.flip(0))
    loss = loss + (F.mse_loss(logits, share, reduction="none") * weight).mean()
    loss = loss + F.binary_cross_entropy(torch.sigmoid(logits), share, weight=weight)
    loss = loss + F.kl_div(F.log_softmax(logits, 1), share, reduction="batchmean")
    loss = loss + F.kl_div(F.log_softmax(logits, 1), F.one_hot(label, 7).to(logits.dtype))
    loss = loss + F.kl_div(F.log_softmax(logits, 1), share.log(), reduction="sum", log_target=True) / 30
    loss = loss + F.poisson_nll_loss(logits, share) + F.poisson_nll_loss(logits.exp(), share, log_input=False)
    loss = loss + F.soft_margin_loss(logits, torch.sign(other)) + F.hinge_embedding_loss(logits, torch.sign(other))
    loss = loss + F.margin_ranking_loss(logits.sum(1), other.sum(1), sign, margin=0.3)
    loss = loss - F.cosine_similarity(logits, other).mean() + F.pairwise_distance(logits, other).mean()
    loss = loss + F.pairwise_distance(logits, logits.detach() - 1e-6).mean()  # a distance of 0
    return loss + F.triplet_margin_loss(logits, other, logits.flip(1), swap=True)


def contrasted(both, label):
    """Losses whose classes are the samples of the batch."""
    a, b, scale = both
    n, scores = a.shape[0], a @ b.t() * scale
    labels, same = torch.arange(n), (label[:, None] == label[None]).to(a.dtype)
    loss = (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)) / 2
    loss = loss - F.logsigmoid((2 * torch.eye(n) - torch.ones(n, n)) * scores).sum() / n
    loss = loss + (torch.logsumexp(scores, 1) - torch.diagonal(scores)).mean() + torch.triu(scores, 1).pow(2).mean()
    loss = loss + torch.logsumexp(scores, 0).mean() + scores.amax(1).mean() + scores.max(0)[0].pow(2).mean()
    loss = loss + (scores.argmax(1)[:, None] * a).mean() + (a.flip(0) * b.roll(1, 0)).mean()
    loss = loss + a.cumsum(0).pow(2).mean() + torch.trace(scores) / n
    loss = loss + (a.t() @ b / (n - 1)).pow(2).mean() + (b[-1] * a).mean()
    log = scores - 1e9 * torch.eye(n, dtype=a.dtype)
    log = (log - torch.logsumexp(log, 1, keepdim=True)) * same * (1 - torch.eye(n))
    loss = loss - (log.sum(1) / same.sum(1)).mean()
    z = torch.cat([a, b])
    scores = (z @ z.t() / 0.5).masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    loss = loss + F.cross_entropy(scores, (torch.arange(2 * n) + n) % (2 * n)) + F.mse_loss(z[:n].exp(), z[n:])
    return loss - (z[:n] * z[n:]).sum(1).mean() + (a * torch.diag(a[:, 0]).sum(1, keepdim=True)).mean()


def with_margins(logits, label):
    loss = F.multi_margin_loss(logits, label) + F.multi_margin_loss(logits, label, p=2, margin=0.7)
    sign = torch.sign(logits.detach()[:, 0])
    return loss + F.cosine_embedding_loss(logits, logits.detach().flip(1) + 0.2, sign, margin=0.1)


def turned(logits, label):
    return F.cross_entropy(logits, label.t().reshape(-1))


def words(logits, label):
    return F.cross_entropy(logits.transpose(1, 2), label)


def make(name, model, loss, x, label, wide=None):
    """`wide`: a batch of another size than the example's, of which NAME.wide.safetensors is."""
    torch.manual_seed(7)
    module = Trained(model(), loss).double().train()
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(module, (x, label), dynamic_shapes={"x": {0: batch}, "label": {0: batch}})
    torch.export.save(program, name + ".pt2")
    save_step(name, module, module(x, label), x, label)
    if wide is not None:
        module.zero_grad()
        save_step(f"{name}.wide", module, module(*wide), *wide)


def make_predictions(name, model, x, losses):
    """A module that returns predictions; NAME.LOSS.safetensors: what each loss gives with its labels."""
    torch.manual_seed(7)
    module = model().double().train()
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(module, (x,), dynamic_shapes={"x": {0: batch}})
    torch.export.save(program, name + ".pt2")
    for of_loss, (loss, label) in losses.items():
        module.zero_grad()
        save_step(f"{name}.{of_loss}", module, loss(module(x), label), x, label)


def save_step(name, module, value, x, label):
    value.backward()
    tensors = {"in/x": x, "in/label": label, "loss": value.detach().reshape(1)}
    tensors |= {"gradient/" + n: p.grad for n, p in module.named_parameters() if p.grad is not None}
    tensors |= {"running/" + n: b for n, b in module.named_buffers() if "running" in n}
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
    export("refused/logits", nn.Linear(4, 3), small)
    export("refused/unknown", Trained(Spectrum(), F.cross_entropy), small, label)
    norm = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval()
    export("refused/evaluation", Trained(norm, F.cross_entropy), small, label)
    batch = torch.export.Dim("batch", min=2)
    for name, model, loss in (("by_batch", nn.Linear(4, 3), by_batch), ("of_example", OfExample(), F.cross_entropy)):
        program = torch.export.export(Trained(model, loss), (small, label),
                                      dynamic_shapes={"x": {0: batch}, "label": {0: batch}})
        torch.export.save(program, f"refused/{name}.pt2")
    whole = members("refused/logits.pt2")
    program = next(name for name in whole if name.endswith("models/model.json"))
    few = [(program, whole[program])]
    write("refused/compressed.pt2", few, zipfile.ZIP_DEFLATED)
    write("refused/outside.pt2", [*few, ("logits/../../escaped", b"x")])
    write("refused/twice.pt2", [*few, *few])
    write("refused/checkpoint.pt2", [("checkpoint/data.pkl", b"x"), ("checkpoint/version", b"3")])
    write("refused/deep.pt2", [(program, b'{"a":' * 100 + b"1" + b"}" * 100)])
    old = json.loads(whole[program])
    old["schema_version"], old["torch_version"] = {"major": 5, "minor": 1}, "2.3.0"
    write("refused/version.pt2", [(program, json.dumps(old))])


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.linear, lambda y: -y, (x,)).mean()


@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class OfOwnOp(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return torch.ops.mine.twice(self.linear(x))


def make_foreign():
    """What is often taken for an exported program of training, or cannot be trained."""
    state = torch.get_rng_state()
    small, label = torch.randn(3, 4), torch.randint(0, 3, (3,))
    export("refused/branch", Branching(), small)
    export("refused/own_op", Trained(OfOwnOp(), F.cross_entropy), small, label)
    image = torch.randn(3, 2, 4, 4)
    net = Trained(nn.Sequential(nn.Conv2d(2, 3, 4), nn.Flatten()), F.cross_entropy)
    torch.export.save(torch.export.export(net, (image, label)).run_decompositions(), "refused/decomposed.pt2")
    whole = members("refused/own_op.pt2")
    config = next(name for name in whole if name.endswith("model_weights_config.json"))
    pickled = json.loads(whole[config])
    pickled["config"]["model.linear.bias"]["use_pickle"] = True
    write("refused/pickled.pt2", [(name, json.dumps(pickled) if name == config else value)
                                  for name, value in whole.items()])
    write("refused/script.pt2", [("net/code/__torch__/net.py", b"class Net(Module):\n"), ("net/data.pkl", b"x")])
    torch.set_rng_state(state)


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
    words_of = torch.randint(1, 11, (BATCH, 6))
    words_of[0, 4:], words_of[3, 2:] = 0, 0
    make("masked", Masked, shifted, words_of, torch.randint(0, 11, (BATCH, 6)))
    make("sizes", Sizes, classes, image, label)
    make("statistics", Statistics, several, torch.randn(BATCH, 6).double(), label)
    make("written", Written, classes, torch.randn(BATCH, 6).double(), label)
    make_refused()
    make_foreign()
    make("tuned", Tuned, classes, image, label)
    os.makedirs("predictions", exist_ok=True)
    rows, real = torch.randn(BATCH, 6).double(), torch.randn(BATCH, 7).double()
    make_predictions("predictions/sample", Sample, rows, {
        "cross_entropy": (F.cross_entropy, label), "mse": (F.mse_loss, real), "l1": (F.l1_loss, real),
        "bce_with_logits": (F.binary_cross_entropy_with_logits, torch.sigmoid(real))})
    make_predictions("predictions/positions", Positions, torch.randint(0, 11, (BATCH, 6)),
                     {"cross_entropy": (words, torch.randint(0, 11, (BATCH, 6)))})
    make_predictions("predictions/map", Map, torch.randn(BATCH, 3, 4, 5).double(),
                     {"cross_entropy": (F.cross_entropy, torch.randint(0, 7, (BATCH, 4, 5)))})
    make("padded", Padded, saturated, words_of, torch.randint(0, 11, (BATCH, 6)))
    small, of_small = torch.randn(3, 4), torch.randint(0, 3, (3,))
    export("refused/averaging", Trained(Averaging(), F.cross_entropy), small, of_small)
    export("refused/reading", Trained(Reading(), F.cross_entropy), small, of_small)
    instance = nn.Sequential(nn.InstanceNorm1d(4, track_running_stats=True), nn.Flatten())
    export("refused/instance", Trained(instance, F.cross_entropy), small[:, :, None].repeat(1, 1, 3), of_small)
    rows = torch.randn(BATCH, 6).double()
    os.makedirs("functions", exist_ok=True)
    make("functions/elements", Functions, classes, rows, label)
    make("functions/chosen", Chosen, bounded, rows, label)
    make("functions/classes", lambda: nn.Linear(6, 7), of_classes, rows, label)
    make("functions/numbers", lambda: nn.Linear(6, 7), of_numbers, rows, label)
    make("functions/batch", OfBatch, classes, rows, label)
    wide = torch.randn(8, 6).double(), torch.randint(0, 7, (8,))
    make("functions/contrast", Pairs, contrasted, rows, label, wide)
    make("functions/ordered", Ordered, with_margins, rows, label)
    make("functions/products", Products, classes, rows, label)
    make("functions/heads", Heads, turned, rows, torch.randint(0, 7, (BATCH, 3)))
    make("functions/edges", Edges, of_zeros, 1.5 * torch.randn(BATCH, 6).double(), torch.randint(0, 7, (BATCH,)))
    make("functions/places", Places, classes, torch.randn(BATCH, 6).double(), torch.randint(0, 7, (BATCH,)))
    export("refused/diagonal", Trained(Emptied(), F.cross_entropy), small, of_small)
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))
    export("refused/spectral", Trained(spectral, F.cross_entropy), small, of_small)
    spectral.parametrizations.eval()
    export("refused/spectral_evaluation", Trained(spectral, F.cross_entropy), small, of_small)


if __name__ == "__main__":
    main()
