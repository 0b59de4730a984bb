"""Networks as textbooks and tutorials write them: recurrent, generative, of graphs, sets, sound, video and ranks."""

import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from zoo.case import BATCH, CLASSES, Case, binary_loss, class_loss, classes, images, pixel_loss

WORDS, LENGTH = 50, 12


def text(length=LENGTH):
    return classes(length, of=WORDS)


def word_loss(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def square_loss(model, x, y):
    return F.mse_loss(model(x), y)


class Recurrent(nn.Module):
    """Words, a recurrent layer, and a classifier of each word or of the last state."""

    def __init__(self, layer, size=16, outputs=WORDS, last=False, **options):
        super().__init__()
        self.table = nn.Embedding(WORDS, size)
        self.layer = layer(size, size, batch_first=True, **options)
        self.head = nn.Linear(size * (2 if options.get("bidirectional") else 1), outputs)
        self.last = last

    def forward(self, x):
        states, _ = self.layer(self.table(x))
        return self.head(states[:, -1] if self.last else states)


class Loop(nn.Module):
    """A cell in a loop of Python."""

    def __init__(self, cell):
        super().__init__()
        self.cell, self.head = cell(5, 16), nn.Linear(16, 1)

    def forward(self, x):
        state = None
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.head(state[0] if isinstance(state, tuple) else state)


class Translator(nn.Module):
    """An encoder, a decoder that begins with its state, and attention over the encoder's states."""

    def __init__(self, size=16):
        super().__init__()
        self.read, self.write = nn.Embedding(WORDS, size), nn.Embedding(WORDS, size)
        self.encoder, self.decoder = nn.GRU(size, size, batch_first=True), nn.GRU(size, size, batch_first=True)
        self.join, self.head = nn.Linear(2 * size, size), nn.Linear(size, WORDS)

    def forward(self, x, begun):
        memory, state = self.encoder(self.read(x))
        query, _ = self.decoder(self.write(begun), state)
        weights = (query @ memory.mT / math.sqrt(query.shape[-1])).softmax(-1)
        return self.head(torch.tanh(self.join(torch.cat([query, weights @ memory], -1))))


class Unet(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.first, self.second = self.pair(3, size), self.pair(size, 2 * size)
        self.up, self.third = nn.ConvTranspose2d(2 * size, size, 2, 2), self.pair(2 * size, size)
        self.head = nn.Conv2d(size, CLASSES, 1)

    @staticmethod
    def pair(channels, made):
        return nn.Sequential(nn.Conv2d(channels, made, 3, padding=1, bias=False), nn.BatchNorm2d(made), nn.ReLU(True),
                             nn.Conv2d(made, made, 3, padding=1, bias=False), nn.BatchNorm2d(made), nn.ReLU(True))

    def forward(self, x):
        high = self.first(x)
        low = self.second(F.max_pool2d(high, 2))
        x = self.third(torch.cat([high, self.up(low)], 1))
        return self.head(x + F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="bilinear", align_corners=True))


class Denoiser(nn.Module):
    """A diffusion model's step: group norms, attention over places, the time as sines and cosines."""

    def __init__(self, size=16):
        super().__init__()
        self.size = size
        self.time = nn.Sequential(nn.Linear(size, 2 * size), nn.SiLU(), nn.Linear(2 * size, size))
        self.first, self.down = nn.Conv2d(3, size, 3, padding=1), nn.Conv2d(size, size, 3, 2, 1)
        self.norm, self.qkv, self.out = nn.GroupNorm(4, size), nn.Conv2d(size, 3 * size, 1), nn.Conv2d(size, size, 1)
        self.last_norm, self.last = nn.GroupNorm(4, 2 * size), nn.Conv2d(2 * size, 3, 3, padding=1)

    def forward(self, x, step):
        half = self.size // 2
        angles = step[:, None].to(x.dtype) * torch.exp(torch.arange(half, dtype=x.dtype) * (-math.log(10000) / half))
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        high = self.first(x) + time[:, :, None, None]
        low = self.down(F.silu(high))
        n, c, h, w = low.shape
        q, k, v = self.qkv(self.norm(low)).reshape(n, 3, 2, c // 2, h * w).transpose(-1, -2).unbind(1)
        low = low + self.out(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(n, c, h, w))
        high = torch.cat([high, F.interpolate(low, scale_factor=2.0, mode="nearest")], 1)
        return self.last(F.silu(self.last_norm(high)))


class Points(nn.Module):
    """PointNet: a matrix for each cloud, and the maxima over its points."""

    def __init__(self):
        super().__init__()
        self.turn, self.matrix = self.each(3, 16), nn.Linear(16, 9)
        self.features = self.each(3, 32)
        self.head = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, CLASSES))

    @staticmethod
    def each(channels, made):
        return nn.Sequential(nn.Conv1d(channels, made, 1), nn.BatchNorm1d(made), nn.ReLU())

    def forward(self, x):
        turn = self.matrix(self.turn(x).max(2)[0]).view(-1, 3, 3) + torch.eye(3, dtype=x.dtype)
        x = (x.transpose(1, 2) @ turn).transpose(1, 2)
        return self.head(self.features(x).max(2, keepdim=True)[0].view(-1, 32))


class Recommender(nn.Module):
    """DLRM: tables of categories, and the products of each two features."""

    def __init__(self, size=8):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, size, mode="sum") for rows in (40, 30, 20))
        self.numbers = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, size), nn.ReLU())
        self.register_buffer("pairs", torch.triu_indices(4, 4, 1), persistent=False)
        self.head = nn.Sequential(nn.Linear(size + 6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, categories):
        x = self.numbers(x)
        each = torch.stack([x, *(table(categories[:, i]) for i, table in enumerate(self.tables))], 1)
        products = torch.bmm(each, each.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.head(torch.cat([x, products], 1)).squeeze(1)


class Collaborative(nn.Module):
    """Neural collaborative filtering: users and items."""

    def __init__(self, size=8):
        super().__init__()
        self.users, self.items = nn.Embedding(30, size), nn.Embedding(40, size)
        self.deep = nn.Sequential(nn.Linear(2 * size, 16), nn.ReLU(), nn.Linear(16, size))
        self.head = nn.Linear(2 * size, 1)

    def forward(self, user, item):
        u, i = self.users(user), self.items(item)
        return self.head(torch.cat([u * i, self.deep(torch.cat([u, i], -1))], -1)).view(-1)


class Graphs(nn.Module):
    """Graph convolutions with dense adjacency, or attention over neighbours."""

    def __init__(self, attends, size=16):
        super().__init__()
        self.first, self.second = nn.Linear(6, size), nn.Linear(size, CLASSES)
        self.query, self.key = nn.Linear(size, 1), nn.Linear(size, 1)
        self.attends = attends

    def forward(self, x, edges):
        x = self.first(x)
        if self.attends:
            scores = F.leaky_relu(self.query(x) + self.key(x).mT, 0.2)
            weights = scores.masked_fill(edges < 0.5, -1e9).softmax(-1)
        else:
            degree = edges.sum(-1).rsqrt()
            weights = edges * degree.unsqueeze(-1) * degree.unsqueeze(-2)
        return self.second(F.relu(weights @ x))


class Causal(nn.Module):
    """A temporal convolutional block: dilated, weight-normed, and cut at the end."""

    def __init__(self, channels, made, dilation):
        super().__init__()
        self.cut = 2 * dilation
        normed = nn.utils.parametrizations.weight_norm
        self.first = normed(nn.Conv1d(channels, made, 3, padding=self.cut, dilation=dilation))
        self.second = normed(nn.Conv1d(made, made, 3, padding=self.cut, dilation=dilation))
        self.skip = nn.Conv1d(channels, made, 1)

    def forward(self, x):
        y = F.relu(self.first(x)[:, :, :-self.cut])
        return F.relu(F.relu(self.second(y)[:, :, :-self.cut]) + self.skip(x))


class Language(nn.Module):
    """A small GPT by hand: a triangle as a buffer, masked_fill, a tied classifier."""

    def __init__(self, size=16, heads=2):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, size), nn.Embedding(LENGTH, size)
        self.register_buffer("triangle", torch.tril(torch.ones(LENGTH, LENGTH))[None, None])
        self.norm, self.qkv, self.out = nn.LayerNorm(size), nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.heads = heads

    def forward(self, x):
        n, t = x.shape
        x = self.words(x) + self.places(torch.arange(t))
        q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(self.triangle[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).contiguous().view(n, t, -1))
        x = x + self.down(F.gelu(self.up(x), approximate="tanh"))
        return x @ self.words.weight.t()


class Encoder(nn.Module):
    """nn.TransformerEncoder over words."""

    def __init__(self, norm_first=True):
        super().__init__()
        self.table, self.places = nn.Embedding(WORDS, 16), nn.Parameter(torch.randn(1, LENGTH, 16) * 0.1)
        layer = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.head(self.encoder(self.table(x) + self.places).mean(1))


class Sequences(nn.Module):
    """nn.Transformer from words to words."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, 16)
        self.transformer = nn.Transformer(16, 4, 1, 1, 32, 0.0, batch_first=True)
        self.head = nn.Linear(16, WORDS)

    def forward(self, x, begun):
        mask = nn.Transformer.generate_square_subsequent_mask(begun.shape[1], dtype=torch.float64)
        return self.head(self.transformer(self.table(x), self.table(begun), tgt_mask=mask, tgt_is_causal=True))


class Experts(nn.Module):
    """A mixture: each sample's experts, weighted by a gate."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(13, 4)
        self.up, self.down = nn.Parameter(torch.randn(4, 13, 16) * 0.3), nn.Parameter(torch.randn(4, 16, CLASSES) * 0.3)

    def forward(self, x):
        each = torch.einsum("nsh,sho->nso", F.relu(torch.einsum("ni,sih->nsh", x, self.up)), self.down)
        best, places = self.gate(x).topk(2)
        weights = torch.zeros(x.shape[0], 4, dtype=x.dtype).scatter(1, places, best.softmax(-1))
        return (weights.unsqueeze(-1) * each).sum(1)


class Adversaries(nn.Module):
    """A generator of DCGAN in front of its discriminator."""

    def __init__(self, size=8):
        super().__init__()
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(10, 2 * size, 4, 1, 0, bias=False), nn.BatchNorm2d(2 * size), nn.ReLU(True),
            nn.ConvTranspose2d(2 * size, size, 4, 2, 1, bias=False), nn.BatchNorm2d(size), nn.ReLU(True),
            nn.ConvTranspose2d(size, 3, 4, 2, 1, bias=False), nn.Tanh())
        self.judge = nn.Sequential(nn.Conv2d(3, size, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(size, 1, 8), nn.Flatten())

    def forward(self, x):
        return self.judge(self.generator(x))


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 49, 16))

    def forward(self, x):
        return self.body(x)


class Fourier(nn.Module):
    """A coordinate network: sines of a random projection."""

    def __init__(self):
        super().__init__()
        self.register_buffer("waves", torch.randn(2, 16))
        self.layers = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 3), nn.Sigmoid())

    def forward(self, x):
        x = 2 * math.pi * x @ self.waves
        return self.layers(torch.cat([x.sin(), x.cos()], -1))


def contrast(model, a, b):
    """SimCLR's loss of two views of each image."""
    z = F.normalize(torch.cat([model(a), model(b)]), dim=1)
    n = a.shape[0]
    scores = (z @ z.t() / 0.5).masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    return F.cross_entropy(scores, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


def stages(*layers):
    return nn.Sequential(*layers)


def words_case(layer, **options):
    return Case(Recurrent(layer, **options), {"x": text(), "y": text()}, word_loss)


def sentence_case(layer, **options):
    net = Recurrent(layer, outputs=CLASSES, last=True, **options)
    return Case(net, {"x": text(), "y": classes()}, class_loss)


def graph_case(attends):
    edges = (torch.rand(BATCH, 9, 9) > 0.5).float()
    batch = {"x": torch.randn(BATCH, 9, 6), "edges": ((edges + edges.mT + torch.eye(9)) > 0).float(), "y": classes(9)}
    return Case(Graphs(attends), batch, lambda model, x, edges, y: F.cross_entropy(model(x, edges).transpose(1, 2), y))


def sequences_case(model):
    return Case(model, {"x": text(), "begun": text(), "y": text()},
                lambda model, x, begun, y: F.cross_entropy(model(x, begun).flatten(0, 1), y.flatten()))


def sound():
    def stage(channels, made, kernel, stride=1):
        return nn.Conv1d(channels, made, kernel, stride), nn.BatchNorm1d(made), nn.ReLU(), nn.MaxPool1d(4)
    return stages(*stage(1, 8, 80, 16), *stage(8, 8, 3), *stage(8, 16, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                  nn.Linear(16, CLASSES), nn.LogSoftmax(-1))


def volumes(channels=3):
    return stages(nn.Conv3d(channels, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d((1, 2, 2)),
                  nn.Conv3d(8, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2), nn.AdaptiveAvgPool3d(1),
                  nn.Flatten(), nn.Linear(16, CLASSES))


def of_itself(model, x):
    return F.mse_loss(model(x), x)


MODELS = {
    "autoencoder": lambda: Case(
        stages(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
               nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.ReLU(),
               nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1), nn.Sigmoid()), {"x": images(28, 1)}, of_itself),
    "bilstm_tagger": lambda: Case(
        Recurrent(nn.LSTM, outputs=CLASSES, bidirectional=True), {"x": text(), "y": classes(LENGTH)},
        lambda model, x, y: F.cross_entropy(model(x).transpose(1, 2), y, ignore_index=-1)),
    "collaborative": lambda: Case(
        Collaborative(), {"user": classes(of=30), "item": classes(of=40), "y": torch.rand(BATCH).round()},
        lambda model, user, item, y: F.binary_cross_entropy_with_logits(model(user, item), y)),
    "conv3d": lambda: Case(volumes(), {"x": torch.randn(BATCH, 3, 8, 16, 16), "y": classes()}, class_loss),
    "coordinates": lambda: Case(Fourier(), {"x": torch.rand(BATCH, 40, 2), "y": torch.rand(BATCH, 40, 3)}, square_loss),
    "dcgan": lambda: Case(Adversaries(), {"x": torch.randn(BATCH, 10, 1, 1)},
                          lambda model, x: binary_loss(model, x, x.new_ones(x.shape[0], 1))),
    "diffusion_unet": lambda: Case(
        Denoiser(), {"x": images(16), "step": classes(of=1000), "noise": images(16)},
        lambda model, x, step, noise: F.mse_loss(model(x, step), noise)),
    "dlrm": lambda: Case(
        Recommender(), {"x": torch.randn(BATCH, 13), "categories": classes(3, 4, of=20), "y": torch.ones(BATCH)},
        lambda model, x, categories, y: F.binary_cross_entropy_with_logits(model(x, categories), y)),
    "experts": lambda: Case(Experts(), {"x": torch.randn(BATCH, 13), "y": classes()}, class_loss),
    "gat": lambda: graph_case(True),
    "gcn": lambda: graph_case(False),
    "gru_language": lambda: words_case(nn.GRU, num_layers=2),
    "gru_loop": lambda: Case(Loop(nn.GRUCell), {"x": torch.randn(BATCH, 7, 5), "y": torch.randn(BATCH, 1)}, square_loss),
    "lstm_language": lambda: words_case(nn.LSTM, num_layers=2),
    "lstm_loop": lambda: Case(Loop(nn.LSTMCell), {"x": torch.randn(BATCH, 7, 5), "y": torch.randn(BATCH, 1)}, square_loss),
    "mlp": lambda: Case(stages(nn.Linear(13, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1)),
                        {"x": torch.randn(BATCH, 13), "y": torch.randn(BATCH, 1)}, square_loss),
    "mnist_cnn": lambda: Case(
        stages(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
               nn.Linear(2304, 32), nn.ReLU(), nn.Linear(32, CLASSES)), {"x": images(28, 1), "y": classes()},
        lambda model, x, y: F.nll_loss(F.log_softmax(model(x), 1), y)),
    "nano_gpt": lambda: Case(Language(), {"x": text(), "y": text()}, lambda model, x, y: F.cross_entropy(
        model(x).view(-1, WORDS), y.view(-1), ignore_index=-1)),
    "pointnet": lambda: Case(Points(), {"x": torch.randn(BATCH, 3, 40), "y": classes()}, class_loss),
    "rnn_sentences": lambda: sentence_case(nn.RNN),
    "seq2seq": lambda: sequences_case(Translator()),
    "siamese": lambda: Case(
        Siamese(), {"a": images(16, 1), "b": images(16, 1), "y": torch.randint(0, 2, (BATCH,)).float() * 2 - 1},
        lambda model, a, b, y: F.cosine_embedding_loss(model(a), model(b), y, margin=0.2)),
    "simclr": lambda: Case(torchvision.models.resnet18(weights=None, num_classes=16), {"a": images(64), "b": images(64)},
                           contrast),
    "sound_m5": lambda: Case(sound(), {"x": torch.randn(BATCH, 1, 4000), "y": classes()},
                             lambda model, x, y: F.nll_loss(model(x), y)),
    "super_resolution": lambda: Case(
        stages(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 8, 3, padding=1, padding_mode="reflect"), nn.ReLU(),
               nn.Conv2d(8, 9, 3, padding=1), nn.PixelShuffle(3)), {"x": images(12, 1), "y": images(36, 1)},
        lambda model, x, y: F.l1_loss(model(x), y)),
    "tcn": lambda: Case(
        stages(Causal(1, 8, 1), Causal(8, 8, 2), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, CLASSES)),
        {"x": torch.randn(BATCH, 1, 40), "y": classes()}, class_loss),
    "transformer": lambda: sequences_case(Sequences()),
    "transformer_encoder": lambda: Case(Encoder(), {"x": text(), "y": classes()}, class_loss),
    "transformer_post_norm": lambda: Case(Encoder(norm_first=False), {"x": text(), "y": classes()}, class_loss),
    "triplets": lambda: Case(
        Siamese(), {"a": images(16, 1), "b": images(16, 1), "c": images(16, 1)},
        lambda model, a, b, c: F.triplet_margin_loss(model(a), model(b), model(c))),
    "unet": lambda: Case(Unet(), {"x": images(32), "y": classes(32, 32)}, pixel_loss),
}

FAMILIES = {"classics": (list(MODELS), lambda name: MODELS[name]())}
