"""full_size_training.py TRAINER [--ranks=N] [--threads=N] [MODEL...]: trains models of torchvision and transformers at
their full size for 20 steps, by PyTorch and by Partita, on the same data, and compares the loss of each step.

Both train in f32, with SGD with momentum, from the random weights of seed 0 and without dropout. PyTorch also trains
in f64. Losses are equal within rounding where Partita's are at most three times as far from those of f64 as PyTorch's
own in f32, the farthest of the steps of each. The rate is low, because training amplifies rounding. TRAINER is the
program //tools:trainer. With --ranks=4 it trains over 4 processes: `trainer launch -- train --dp=4`, with batch norms
over the whole batch.

Prints a Markdown table; exit code 1 if a model differs. Needs torch, torchvision, transformers and numpy from PyPI; no
weights are downloaded. A model takes minutes and up to 4 GB (with --ranks=4 up to 12 GB).
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy
import torch
import torch.nn.functional as F
import torchvision
import transformers
from exported_models import without_dropout
from torch import nn

STEPS, BATCH, RATE, MOMENTUM = 20, 4, 0.0005, 0.9


class Classifies(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        out = self.model(x)
        return F.cross_entropy(getattr(out, "logits", out), y)


class PredictsWords(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        return F.cross_entropy(self.model(x).logits.flatten(0, 1), y.flatten())


@dataclasses.dataclass
class Case:
    trained: Callable  # makes the module that returns the loss
    batch: Callable  # makes x and y


def pictures(make):
    return Case(lambda: Classifies(make(weights=None)),
                lambda: (torch.randn(BATCH, 3, 224, 224), torch.randint(0, 1000, (BATCH,))))


def words(length):
    return torch.randint(0, 30000, (BATCH, length))


def bert():
    model = transformers.BertForSequenceClassification(transformers.BertConfig())
    return Classifies(model)


def gpt2():
    return PredictsWords(transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)))


CASES = {
    **{name: pictures(getattr(torchvision.models, name)) for name in (
        "resnet50", "vgg16_bn", "densenet121", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny", "swin_t",
        "vit_b_16")},
    "bert_base": Case(bert, lambda: (words(64), torch.randint(0, 2, (BATCH,)))),
    "gpt2": Case(gpt2, lambda: (words(64), words(64))),
}


def made(name):
    torch.manual_seed(0)
    case = CASES[name]
    module = case.trained().train()
    without_dropout(module)
    for part in module.modules():  # torchvision's stochastic depth draws whole samples
        if isinstance(part, torchvision.ops.StochasticDepth):
            part.p = 0.0
    return module, case.batch()


def train_by_torch(module, x, y):
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE, momentum=MOMENTUM)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = module(x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def export(module, x, y, path):
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(module, (x, y), dynamic_shapes={"x": {0: batch}, "y": {0: batch}})
    torch.export.save(program, path)


def write_data(x, y, path):
    """As arrays, one batch for each epoch; pictures as [n, h, w, c]."""
    x = x.movedim(1, -1).contiguous().numpy() if x.dim() == 4 else x.int().numpy()
    arrays = {"x": x, "y": y.int().numpy()}
    numpy.savez(path, **{f"{part}/{name}": value for part in ("train", "test") for name, value in arrays.items()})


def train_by_partita(options, folder):
    flags = [f"--data={folder}/data.npz", f"--batch={BATCH}", f"--epochs={STEPS}", f"--learning-rate={RATE}",
             f"--optimizer=sgd,momentum={MOMENTUM}", f"--metrics={folder}/metrics.jsonl", "--metrics-every=1",
             f"--threads={options.threads}", f"{folder}/model.pt2"]
    if options.ranks > 1:
        command = [options.trainer, "launch", "--", "train", f"--dp={options.ranks}", *flags]
    else:
        command = [options.trainer, "train", *flags]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip() or f"exit code {ran.returncode}")
    with open(f"{folder}/metrics.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line["loss"] for line in lines if line["event"] == "step"]


def farthest(losses, exact):
    return max(abs(loss - double) for loss, double in zip(losses, exact, strict=True))


def row(name, options):
    module, (x, y) = made(name)
    parameters = sum(p.numel() for p in module.parameters())
    with tempfile.TemporaryDirectory() as folder:
        export(module, x, y, f"{folder}/model.pt2")
        write_data(x, y, f"{folder}/data.npz")
        begin = time.monotonic()
        theirs = train_by_torch(module, x, y)
        torch_seconds = time.monotonic() - begin
        del module
        double = made(name)[0].double()
        exact = train_by_torch(double, x.double() if x.is_floating_point() else x, y)
        del double
        begin = time.monotonic()
        ours = train_by_partita(options, folder)
        seconds = time.monotonic() - begin
    rounding, error = max(farthest(theirs, exact), 2.0**-22 * max(map(abs, exact))), farthest(ours, exact)
    print(f"| {name} | {parameters:,} | {exact[0]:.4f} to {exact[-1]:.4f} | "
          f"{farthest(theirs, exact):.1e} | {error:.1e} | {error / rounding:.2f} | "
          f"{torch_seconds:.0f} | {seconds:.0f} |", flush=True)
    return error <= 3 * rounding


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainer")
    parser.add_argument("models", nargs="*", choices=[[], *CASES], metavar="MODEL")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_intermixed_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    print("| model | parameters | loss, step 1 to 20 | PyTorch from f64 | Partita from f64 | ratio | PyTorch s | Partita s |")
    print("|---|---|---|---|---|---|---|---|")
    equal = [row(name, options) for name in options.models or CASES]
    print(f"\n{sum(equal)} of {len(equal)} equal within rounding")
    sys.exit(0 if all(equal) else 1)


if __name__ == "__main__":
    main()
