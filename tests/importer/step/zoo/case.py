"""A model with a batch and its loss, as exported_models.py exports it."""

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

BATCH, CLASSES = 2, 10


@dataclasses.dataclass
class Case:
    model: nn.Module
    batch: dict  # the tensors that loss takes, by name; the samples are the first dimension of each
    loss: Callable  # of the model and the batch


class Trained(nn.Module):
    """A model and its loss: what is exported."""

    def __init__(self, case):
        super().__init__()
        self.model = case.model
        self.__dict__["loss"] = case.loss

    def forward(self, **batch):
        return self.loss(self.model, **batch)


def images(size, channels=3):
    return torch.randn(BATCH, channels, size, size)


def classes(*sizes, of=CLASSES):
    return torch.randint(0, of, (BATCH, *sizes))


def class_loss(model, x, y):
    out = model(x)
    logits = getattr(out, "logits", out)
    further = [weight * F.cross_entropy(getattr(out, name), y)
               for name, weight in (("aux_logits", 0.4), ("aux_logits1", 0.3), ("aux_logits2", 0.3)) if hasattr(out, name)]
    return sum(further, F.cross_entropy(logits, y))


def pixel_loss(model, x, y):
    """Of each pixel; 255 has no class. Some models have a second head."""
    out = model(x)
    if isinstance(out, torch.Tensor):
        return F.cross_entropy(out, y, ignore_index=255)
    losses = [F.cross_entropy(out[name], y, ignore_index=255) for name in ("out", "aux") if name in out]
    return losses[0] + 0.5 * losses[1] if len(losses) > 1 else losses[0]


def binary_loss(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x), y)
