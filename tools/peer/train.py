"""The peer of `benchmark train`: mini-inception in PyTorch on the CPU, with the same batch and optimizer.

Waits for lines "STEPS" on standard input, trains so many steps on random batches, and answers each with the seconds
that they took. Ends with the input.
"""

import argparse
import sys
import time

import torch
from torch import nn

BATCHES = 16  # random ones, used in turns

class Conv(nn.Sequential):
    """A convolution without bias, batch normalization and relu."""

    def __init__(self, inputs, outputs, kernel):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(outputs, eps=1e-3),
            nn.ReLU(inplace=True),
        )


class Block(nn.Module):
    """1x1 // 1x1, 3x3 // 1x1, 3x3, 3x3 // average pool, 1x1."""

    def __init__(self, inputs, one, two, three, four):
        super().__init__()
        self.branches = nn.ModuleList([
            Conv(inputs, one, 1),
            nn.Sequential(Conv(inputs, two[0], 1), Conv(two[0], two[1], 3)),
            nn.Sequential(Conv(inputs, three[0], 1), Conv(three[0], three[1], 3), Conv(three[1], three[2], 3)),
            nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False), Conv(inputs, four, 1)),
        ])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def mini_inception():
    return nn.Sequential(
        Conv(1, 32, 3),
        nn.MaxPool2d(2),
        Block(32, 32, (24, 32), (16, 24, 24), 16),
        nn.MaxPool2d(2),
        Block(104, 64, (48, 96), (32, 48, 48), 48),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(256, 10),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    # The memory format that is faster on the CPU.
    model = mini_inception().to(memory_format=torch.channels_last)
    images = torch.randn(BATCHES, options.batch, 1, 28, 28)
    batches = [batch.to(memory_format=torch.channels_last) for batch in images]
    labels = torch.randint(10, (BATCHES, options.batch))
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10**6)

    print(torch.__version__, flush=True)
    step = 0
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(batches[step % BATCHES]), labels[step % BATCHES])
            loss.backward()
            optimizer.step()
            schedule.step()
            loss.item()
            step += 1
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
