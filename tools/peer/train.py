"""The peer of `benchmark train` and `benchmark models`: the same models in PyTorch, with the same batch and optimizer.

Waits for lines "STEPS" on standard input, trains so many steps on random batches, and answers each with the seconds
that they took. Ends with the input. On a GPU batches come from pinned memory, and a step is waited for only at the end
of its line; modes: `eager`; `graph`, a whole step captured and replayed; `compile`, the model by torch.compile.
"""

import argparse
import sys
import time

import torch
from torch import nn

BATCHES = 16  # random ones, used in turns
WARM_UP = 5  # steps before a capture


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


def mini_inception(_):
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


def conv_stack(_):
    return nn.Sequential(Conv(1, 128, 3), *[Conv(128, 128, 3) for _ in range(8)], nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(128, 10))


def wide_mlp(image_size):
    layers = [nn.Flatten()]
    units = image_size * image_size
    for _ in range(4):
        layers += [nn.Linear(units, 4096), nn.ReLU(inplace=True)]
        units = 4096
    return nn.Sequential(*layers, nn.Linear(units, 10))


MODELS = {"mini-inception": (mini_inception, 0.05), "conv-stack": (conv_stack, 0.0), "wide-mlp": (wide_mlp, 0.0)}


class Training:
    """One step after the other; `run` returns the seconds of some."""

    def __init__(self, options):
        make, smoothing = MODELS[options.model]
        self.cuda = options.device == "cuda"
        self.bf16 = options.precision == "bf16"
        self.device = torch.device(options.device)
        for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
            backend.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.benchmark = True
        self.model = make(options.image_size).to(self.device, memory_format=torch.channels_last)
        self.forward = torch.compile(self.model) if options.mode == "compile" else self.model
        size = options.image_size
        images = torch.randn(BATCHES, options.batch, 1, size, size)
        self.images = [batch.to(memory_format=torch.channels_last) for batch in images]
        self.labels = list(torch.randint(10, (BATCHES, options.batch)))
        if self.cuda:
            self.images = [batch.pin_memory() for batch in self.images]
            self.labels = [batch.pin_memory() for batch in self.labels]
        self.loss_of = nn.CrossEntropyLoss(label_smoothing=smoothing)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, nesterov=True,
                                         weight_decay=5e-4)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=0.1, total_steps=10**6)
        self.step = 0
        self.captured = None
        if options.mode == "graph":
            self.capture()

    def train(self, images, labels):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.loss_of(self.forward(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def capture(self):
        """All of a step but the schedule, whose rate a captured step would not see: an advantage of this mode."""
        self.static = (self.images[0].to(self.device), self.labels[0].to(self.device))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.train(*self.static)
        torch.cuda.current_stream().wait_stream(side)
        self.captured = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.captured):
            self.train(*self.static)

    def one(self):
        images, labels = self.images[self.step % BATCHES], self.labels[self.step % BATCHES]
        self.step += 1
        if self.captured is not None:
            self.static[0].copy_(images, non_blocking=True)
            self.static[1].copy_(labels, non_blocking=True)
            self.captured.replay()
            return
        if self.cuda:
            images, labels = images.to(self.device, non_blocking=True), labels.to(self.device, non_blocking=True)
        loss = self.train(images, labels)
        self.schedule.step()
        if not self.cuda:
            loss.item()

    def run(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.one()
        if self.cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=sorted(MODELS), default="mini-inception")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="f32")
    parser.add_argument("--mode", choices=["eager", "graph", "compile"], default="eager")
    parser.add_argument("--image-size", type=int, default=28)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    training = Training(options)
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        print(training.run(int(line)), flush=True)


if __name__ == "__main__":
    main()
