"""GNMT in PyTorch, as tools/models has it, with tensors under the same names, and how it is trained. It answers as
networks.Network does."""

import torch
from sequences import gates_together
from torch import nn
from torch.nn import functional


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
        self.optimizer = torch.optim.Adam(self.parameters, lr=self.rate)
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


NETWORKS = {"gnmt": Gnmt}
