"""The shipped models of words in PyTorch, as tools/models has them, with tensors under the same names, and how they are
trained. They answer as networks.Network does."""

import math

import numpy
import torch
from torch import nn
from torch.nn import functional


def gates_together(x):
    """Columns of PyTorch, gate * units + unit, as ours, unit * 4 + gate."""
    return x.unflatten(-1, (4, x.shape[-1] // 4)).transpose(-1, -2).flatten(-2)


class LogUniform:
    """TensorFlow's candidate sampler, as ops/functors/sampled_softmax.h has it."""

    def __init__(self, classes, samples):
        self.classes, self.samples, self.range = classes, samples, math.log1p(classes)

    def draw(self):
        """Different classes, and how many draws had them."""
        count = 2 * self.samples
        while True:
            draws = numpy.minimum(numpy.expm1(torch.rand(count).double().numpy() * self.range).astype(numpy.int64),
                                  self.classes - 1)
            first = numpy.sort(numpy.unique(draws, return_index=True)[1])
            if len(first) >= self.samples:
                return torch.from_numpy(draws[first[:self.samples]]), int(first[self.samples - 1]) + 1
            count *= 2

    def log_expected(self, ids, draws):
        chance = torch.log1p(1 / (ids.double() + 1)) / self.range
        return torch.log(-torch.expm1(draws * torch.log1p(-chance)))


class BigLstm(nn.Module):
    """An embedding, LSTMs with projections whose state goes on from batch to batch, a sampled softmax."""

    DEFAULTS = {"vocabulary": 100_000, "length": 20, "hidden": 2048, "projection": 512, "layers": 2, "samples": 8192,
                "dropout": 0.1}
    # What ours draws in a step, by the names of its values; `loss` takes it, or draws itself.
    drawn = {"ids_drawn": "loss@ids", "draws": "loss@draws"}
    tables = ("embedding/table", "softmax/weights")

    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        words, hidden, outputs = settings["vocabulary"], settings["hidden"], settings["projection"]
        self.sampler = LogUniform(words, settings["samples"])
        uniform = lambda shape, scale: nn.Parameter(torch.empty(shape).uniform_(-scale, scale))
        self.table, self.weights = uniform((words, outputs), 0.05), uniform((words, outputs), 0.05)
        self.bias = nn.Parameter(torch.zeros(words))
        self.lstms = nn.ModuleList()
        for _ in range(settings["layers"]):
            lstm = nn.LSTM(outputs, hidden, proj_size=outputs, batch_first=True)
            with torch.no_grad():
                lstm.bias_ih_l0.zero_()
                lstm.bias_hh_l0.zero_()
                lstm.bias_hh_l0[hidden:2 * hidden] = 1  # the forget gates'; ours has one bias, and this beside it
            lstm.bias_hh_l0.requires_grad_(False)
            self.lstms.append(lstm)
        self.forget()

    def forget(self):
        """As before the first batch."""
        self.carried = [None] * len(self.lstms)

    def batches(self, count, batch):
        words = torch.randint(self.settings["vocabulary"], (count, batch, self.settings["length"] + 1))
        return [{"ids": each[:, :-1], "targets": each[:, 1:]} for each in words]

    def to_ours(self, batch, dtype):
        ids, targets = (batch[name].int().contiguous() for name in ("ids", "targets"))
        return {"ids": ids, "targets": targets, "weights": torch.ones(ids.shape, dtype=dtype)}

    def loss(self, ids, targets, ids_drawn=None, draws=None):
        drop = lambda x: functional.dropout(x, self.settings["dropout"], self.training)
        x = drop(functional.embedding(ids, self.table, sparse=True))
        for layer, lstm in enumerate(self.lstms):
            x, (h, c) = lstm(x, self.carried[layer])
            self.carried[layer] = (h.detach(), c.detach())
            x = drop(x)
        if ids_drawn is None:
            ids_drawn, draws = self.sampler.draw()
            ids_drawn = ids_drawn.to(x.device)
        return self.softmax(x.flatten(0, 1), targets.flatten(), ids_drawn, draws)

    def softmax(self, x, labels, ids, draws):
        correction = lambda ids: self.sampler.log_expected(ids, draws).to(x.dtype)
        rows = lambda ids: functional.embedding(ids, self.weights, sparse=True)
        own = (x * rows(labels)).sum(-1) + self.bias[labels] - correction(labels)
        others = functional.linear(x, rows(ids), self.bias[ids] - correction(ids))
        others = others.masked_fill(labels[:, None] == ids, -math.inf)
        return (torch.cat([own[:, None], others], 1).logsumexp(1) - own).mean()

    def named_tensors(self):
        yield "embedding/table", self.table, True, lambda t: t
        yield "softmax/weights", self.weights, True, lambda t: t
        yield "softmax/bias", self.bias, True, lambda t: t
        for layer, lstm in enumerate(self.lstms, 1):
            name = f"lstm{layer}/"
            yield name + "input/weights", lstm.weight_ih_l0, True, lambda t: gates_together(t.t())
            yield name + "recurrent", lstm.weight_hh_l0, True, lambda t: gates_together(t.t())
            yield name + "projection", lstm.weight_hr_l0, True, lambda t: t.t()
            yield name + "bias/values", lstm.bias_ih_l0, True, gates_together

    def recipe(self, batch, rate=1.0, clip_norm=None):
        return AdagradTraining(self, batch, rate, clip_norm or 1 / self.settings["length"])


class AdagradTraining:
    """That of tools/models/big_lstm.cc: tables by rows, the LSTMs' gradients clipped and their weights averaged."""

    DECAY, RATE = 0.999, 0.2

    def __init__(self, net, batch, rate, clip_norm):
        self.clip_norm = clip_norm
        places = net.settings["length"]
        self.clipped = [p for p in net.lstms.parameters() if p.requires_grad]
        self.averages = [p.detach().clone() for p in self.clipped]
        self.steps = 0
        self.optimizer = torch.optim.Adagrad([p for p in net.parameters() if p.requires_grad], lr=rate * self.RATE, eps=0)
        for p, state in self.optimizer.state.items():
            state["sum"].fill_((places * (batch if p is net.table else 1))**-2)

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def update(self):
        self.norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(p.grad) for p in self.clipped]))
        torch._foreach_mul_([p.grad for p in self.clipped], (self.clip_norm / self.norm).clamp(max=1))
        self.optimizer.step()
        self.steps += 1
        decay = min(self.DECAY, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            torch._foreach_lerp_(self.averages, self.clipped, 1 - decay)

    def follow_schedule(self):
        """The rate is constant."""


NETWORKS = {"big-lstm": BigLstm}
