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


class Gnmt(nn.Module):
    """Two stacks of LSTMs and attention between them; every LSTM has both of PyTorch's biases, as ours."""

    DEFAULTS = {"vocabulary": 31_800, "source-length": 27, "target-length": 28, "hidden": 1024, "layers": 4,
                "dropout": 0.2, "smoothing": 0.1, "padded": True}
    drawn = {}
    tables = ()

    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        words, units, layers = settings["vocabulary"], settings["hidden"], settings["layers"]
        uniform = lambda *shape: nn.Parameter(torch.empty(shape).uniform_(-0.1, 0.1))
        lstm = lambda inputs, **of_lstm: nn.LSTM(inputs, units, batch_first=True, **of_lstm)
        self.table = uniform(words, units)
        self.both_ways = lstm(units, bidirectional=True)
        self.encoder = nn.ModuleList([lstm(2 * units)] + [lstm(units) for _ in range(layers - 2)])
        self.decoder = nn.ModuleList([lstm(units)] + [lstm(2 * units) for _ in range(layers - 1)])
        self.query_weights, self.keys_weights, self.v = uniform(units, units), uniform(units, units), uniform(units)
        self.gain, self.attention_bias = nn.Parameter(torch.full((1,), units**-0.5)), nn.Parameter(torch.zeros(units))
        self.classifier_weights, self.classifier_bias = uniform(words, units), uniform(words)
        with torch.no_grad():
            self.table[0] = 0  # padding
            for layer in (self.both_ways, *self.encoder, *self.decoder):
                for name, tensor in layer.named_parameters():
                    tensor.zero_() if name.startswith("bias_hh") else tensor.uniform_(-0.1, 0.1)

    def forget(self):
        """Nothing goes on from batch to batch."""

    def sentences(self, batch, places):
        """Words of `batch` sentences, of which every fourth may be padded behind its end, and how many each has."""
        lengths = torch.full((batch,), places)
        if self.settings["padded"]:
            lengths[1::4] = torch.randint(1, places + 1, (len(lengths[1::4]),))
        words = torch.randint(1, self.settings["vocabulary"], (batch, places))
        return words * (torch.arange(places) < lengths[:, None]), lengths

    def batches(self, count, batch):
        made = []
        for _ in range(count):
            source, source_lengths = self.sentences(batch, self.settings["source-length"])
            ids, lengths = self.sentences(batch, self.settings["target-length"])
            weights = (torch.arange(ids.shape[1]) < lengths[:, None]).float()
            targets = torch.randint(1, self.settings["vocabulary"], ids.shape) * weights.long()
            made.append({"source": source, "source_lengths": source_lengths, "ids": ids, "targets": targets,
                         "weights": weights})
        return made

    def to_ours(self, batch, dtype):
        return {name: field.to(dtype) if name == "weights" else field.int() for name, field in batch.items()}

    def encode(self, x, lengths):
        if self.settings["padded"]:
            packed = nn.utils.rnn.pack_padded_sequence(self.drop(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
            x = nn.utils.rnn.pad_packed_sequence(self.both_ways(packed)[0], batch_first=True, total_length=x.shape[1])[0]
        else:  # what takes whole sentences is faster
            x = self.both_ways(self.drop(x))[0]
        for layer, lstm in enumerate(self.encoder):
            y = lstm(self.drop(x))[0]
            x = y + x if layer > 0 else y
        return x

    def attend(self, asking, encoded, lengths):
        query, keys = asking @ self.query_weights, encoded @ self.keys_weights
        units = torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1) + self.attention_bias)
        scores = units @ (self.v / self.v.norm() * self.gain)
        behind = torch.arange(encoded.shape[1], device=lengths.device) >= lengths[:, None]
        return scores.masked_fill(behind.unsqueeze(1), -65504.0).softmax(-1) @ encoded

    def drop(self, x):
        return functional.dropout(x, self.settings["dropout"], self.training)

    def loss(self, source, source_lengths, ids, targets, weights):
        read = lambda words: functional.embedding(words, self.table, padding_idx=0)
        encoded = self.encode(read(source), source_lengths)
        x = self.decoder[0](self.drop(read(ids)))[0]
        context = self.attend(x, encoded, source_lengths)
        for layer, lstm in enumerate(self.decoder[1:]):
            y = lstm(self.drop(torch.cat([x, context], 2)))[0]
            x = y + x if layer > 0 else y
        logits = functional.linear(x, self.classifier_weights, self.classifier_bias)
        each = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none",
                                        label_smoothing=self.settings["smoothing"])
        return (each * weights.flatten()).sum() / weights.sum()

    def lstms(self):
        yield "encoder1/forward", self.both_ways, ""
        yield "encoder1/backward", self.both_ways, "_reverse"
        for part, layers, first in (("encoder", self.encoder, 2), ("decoder", self.decoder, 1)):
            for layer, lstm in enumerate(layers, first):
                yield f"{part}{layer}", lstm, ""

    def named_tensors(self):
        same = lambda t: t
        yield "embedding/table", self.table, True, same
        for name, lstm, way in self.lstms():
            of = lambda tensor: getattr(lstm, tensor + "_l0" + way)
            yield name + "/input/weights", of("weight_ih"), True, lambda t: gates_together(t.t())
            yield name + "/recurrent", of("weight_hh"), True, lambda t: gates_together(t.t())
            yield name + "/bias/values", of("bias_ih"), True, gates_together
            yield name + "/recurrent_bias/values", of("bias_hh"), True, gates_together
        yield "attention/query/weights", self.query_weights, True, same
        yield "attention/keys/weights", self.keys_weights, True, same
        yield "attention/v", self.v, True, same
        yield "attention/gain", self.gain, True, same
        yield "attention/bias", self.attention_bias, True, same
        yield "classifier/matmul/weights", self.classifier_weights, True, lambda t: t.t()
        yield "classifier/bias/values", self.classifier_bias, True, same

    def recipe(self, batch, rate=1.0, clip_norm=5):
        return AdamTraining(self, rate, clip_norm)


class AdamTraining:
    """That of tools/models/gnmt.cc, up to where its rate is halved."""

    RATE, WARM_UP = 2e-3, 200

    def __init__(self, net, rate, clip_norm):
        self.clip_norm = clip_norm
        self.parameters, self.rate, self.steps = list(net.parameters()), rate * self.RATE, 0
        on_gpu = self.parameters[0].is_cuda  # a captured step needs `capturable`; one launch for all is the fastest
        self.optimizer = torch.optim.Adam(self.parameters, lr=self.rate, fused=on_gpu, capturable=on_gpu)
        self.set_rate()

    def set_rate(self):
        self.optimizer.param_groups[0]["lr"] = self.rate * 0.01**max(0, (self.WARM_UP - self.steps) / self.WARM_UP)

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def update(self):
        gradients = [p.grad for p in self.parameters]
        self.norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
        torch._foreach_mul_(gradients, (self.clip_norm / self.norm).clamp(max=1))
        self.optimizer.step()

    def follow_schedule(self):
        self.steps += 1
        self.set_rate()


NETWORKS = {"big-lstm": BigLstm, "gnmt": Gnmt}
