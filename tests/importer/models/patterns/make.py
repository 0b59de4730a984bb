"""Makes the exported programs of this folder, as ../make.py does: what published models do with places, samples and
windows. `python3 make.py`."""

import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from make import BATCH, classes, make


class Places(nn.Module):
    """Texts whose last word says where to read (CLIP, Llama), slopes for each sample and head (BLOOM), keys that are
    repeated for the samples (DeBERTa), and tables read at places that are computed (M2M-100, mBART, Funnel)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 8)
        self.register_buffer("waves", torch.randn(9, 8))
        self.qkv, self.keys, self.out = nn.Linear(8, 24), nn.Parameter(torch.randn(4, 6) * 0.3), nn.Linear(8, 8)
        self.relative, self.head = nn.Parameter(torch.randn(9, 8) * 0.3), nn.Linear(16, 7)

    def forward(self, words):
        n, length = words.shape
        # Places count the words that are not padding.
        seen = words.ne(0).int()
        places = (torch.cumsum(seen, 1).type_as(seen) * seen).long() + 1
        x = self.table(words) + self.waves.index_select(0, places.view(-1)).view(n, length, -1).detach()
        # The last word is put in front.
        last = (seen.sum(1) - 1).unsqueeze(-1)
        front = words.clone()
        front[:, 1:] = words[:, :-1].clone()
        front[:, 0] = words.gather(1, last).squeeze()
        x = x + 0.3 * self.table(front)
        q, k, v = (t.view(n, length, 2, 4).transpose(1, 2).reshape(2 * n, length, 4) for t in self.qkv(x).chunk(3, -1))
        slopes = torch.tensor([0.5, 0.25]).double()[:, None, None] * torch.arange(length)
        scores = slopes.repeat(n, 1, 1).baddbmm(q, k.transpose(1, 2), beta=1.0, alpha=0.5)
        scores = scores + q[:, :, :2] @ self.keys.view(2, 2, 6).repeat(n, 1, 1)
        y = (scores.softmax(-1) @ v).view(n, 2, length, 4).permute(0, 2, 1, 3).reshape(n, length, 8)
        y[..., 8:].fill_(2.0)  # of no elements, as what is not rotated may be
        rotated = torch.cat((-y[..., :8].flip(-1), y[..., 8:]), -1)
        x = x + self.out(rotated)
        at = torch.arange(3)[:, None].expand(3, 8) * 2 + 1
        x = x + torch.gather(self.relative, 0, at).sum(0)
        both = x[torch.arange(n), words.argmax(-1)], x[torch.arange(n), last.squeeze(-1) - length]
        return self.head(torch.cat(both, -1))


class Patches(nn.Module):
    """Windows of images (ConvBERT, VOLO) and of rows (PatchTST)."""

    def __init__(self):
        super().__init__()
        self.first, self.mix = nn.Conv2d(3, 4, 3, 2, 1), nn.Linear(36, 24)
        self.rows, self.head = nn.Linear(4, 3), nn.Linear(4 + 15, 7)

    def forward(self, image):
        x = self.first(image)
        y = self.mix(F.unfold(x, 3, padding=1, stride=2).transpose(1, 2)).transpose(1, 2)[:, :, :15]
        folded = F.fold(y, (7, 6), (3, 2), dilation=(2, 1), padding=(1, 0), stride=(2, 1))
        x = x + F.pad(folded, (1, 1, 0, 1))
        rows = x.mean(1).flatten(1).unfold(-1, 4, 13)
        return self.head(torch.cat((x.mean((2, 3)), self.rows(rows).flatten(1)), 1))


class Experts(nn.Module):
    """Words that choose their experts, whose weights are taken for each (Mixtral); and parts of words that are kept, by
    the order of a random number each (ViTMAE)."""

    def __init__(self):
        super().__init__()
        self.first, self.gate, self.norm = nn.Linear(2, 8), nn.Linear(8, 4), nn.LayerNorm(4)
        self.experts, self.head = nn.Parameter(torch.randn(4, 8, 8) * 0.3), nn.Linear(8, 7)

    def forward(self, x):
        y = self.first(x.view(-1, 3, 2))
        rows = y.reshape(-1, 8)
        weights, chosen = self.gate(rows).softmax(-1).topk(2)
        each = rows.repeat_interleave(2, 0)
        each = torch.bmm(self.experts[chosen.reshape(-1)], each.unsqueeze(-1)).squeeze(-1)
        each = (each * weights.reshape(-1, 1)).view(-1, 2, 8).sum(1).view(-1, 3, 8)
        order = torch.argsort(x.view(-1, 3, 2)[:, :, 0].detach(), 1)
        kept = y.gather(1, order[:, :2].unsqueeze(-1).repeat(1, 1, 8))
        left, right = torch.tensor_split(F.pad(rows.view(-1, 2, 4), (0, 1, 1, 0)), [2], 1)
        both = (left.mean((1, 2)) * right.mean((1, 2))).view(-1, 3).sum(1, keepdim=True)
        attended = F.scaled_dot_product_attention(y, y, y, attn_mask=0.3 * y @ y.mT)
        deep = self.norm(y.view(-1, 3, 1, 2, 4)).amax((1, 2, 3))
        return self.head(each.mean(1) + attended.mean(1) + kept.exp().mean(1) + both + torch.cat((deep, deep), 1))


def contrast(z, label):
    """SimCLR's loss of rows and the other view of each, whose numbers nothing compares."""
    n, z = z.shape[0], F.normalize(torch.cat((z, label)), dim=1)
    scores = (z @ z.t() / 0.5).masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    return F.cross_entropy(scores, torch.cat((torch.arange(n, 2 * n), torch.arange(n))))


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    torch.manual_seed(5)
    label, wide = torch.randint(0, 7, (BATCH,)), torch.randint(0, 7, (8,))
    words = torch.randint(1, 11, (8, 6))
    words[0, 4:], words[3, 2:] = 0, 0
    make("places", Places, classes, words[:BATCH], label, (words, wide))
    make("patches", Patches, classes, torch.randn(BATCH, 3, 16, 16).double(), label)
    make("experts", Experts, classes, torch.randn(BATCH, 6).double(), label, (torch.randn(8, 6).double(), wide))
    make("views", lambda: nn.Linear(6, 7), contrast, torch.randn(BATCH, 6).double(),
         torch.randn(BATCH, 7).double(), (torch.randn(8, 6).double(), torch.randn(8, 7).double()))


if __name__ == "__main__":
    main()
