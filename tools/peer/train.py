"""The peer of `benchmark train` and `benchmark models`: the same models in PyTorch, with the same batch and optimizer.

Waits for lines "STEPS" on standard input, trains so many steps on random batches, and answers each with the seconds
that they took. Ends with the input. On a GPU batches come from pinned memory, and a step is waited for only at the end
of its line; modes: `eager`; `graph`, a whole step captured and replayed; `compile`, the model by torch.compile. With
`--seconds=N` a peer that hangs is ended by SIGALRM: N seconds after it starts, or after a line.
"""

import argparse
import signal
import sys
import time

import networks
import torch

BATCHES = 16  # random ones, used in turns
WARM_UP = 5  # steps before a capture


class Training:
    """One step after the other; `run` returns the seconds of some."""

    def __init__(self, options):
        self.cuda = options.device == "cuda"
        self.bf16 = options.precision == "bf16"
        self.device = torch.device(options.device)
        for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
            backend.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.benchmark = True
        self.model = networks.make(options.model, image_size=options.image_size,
                                   auxiliary_head=options.auxiliary_head or None, padded=False, **dict(options.size))
        self.model.to(self.device, memory_format=torch.channels_last)
        self.loss_of = torch.compile(self.model.loss) if options.mode == "compile" else self.model.loss
        count = 2 if self.model.settings.get("image_size", 0) > 64 else BATCHES  # large ones take memory
        self.batches = self.model.batches(count, options.batch)
        if self.cuda:
            self.batches = [{name: field.pin_memory() for name, field in batch.items()} for batch in self.batches]
        self.training = self.model.recipe(options.batch)
        self.step = 0
        self.captured = None
        if options.mode == "graph":
            self.capture()

    def train(self, batch):
        self.training.zero_grad()
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.loss_of(**batch)
        loss.backward()
        self.training.update()
        return loss

    def capture(self):
        """All of a step but the schedule, whose rate a captured step would not see: an advantage of this mode."""
        self.static = {name: field.to(self.device) for name, field in self.batches[0].items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.train(self.static)
        torch.cuda.current_stream().wait_stream(side)
        self.captured = torch.cuda.CUDAGraph()
        self.training.zero_grad()
        with torch.cuda.graph(self.captured):
            self.train(self.static)

    def one(self):
        batch = self.batches[self.step % len(self.batches)]
        self.step += 1
        if self.captured is not None:
            for name, field in batch.items():
                self.static[name].copy_(field, non_blocking=True)
            self.captured.replay()
            return
        if self.cuda:
            batch = {name: field.to(self.device, non_blocking=True) for name, field in batch.items()}
        loss = self.train(batch)
        self.training.follow_schedule()
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
    parser.add_argument("--model", choices=networks.NAMES, default="mini-inception")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="f32")
    parser.add_argument("--mode", choices=["eager", "graph", "compile"], default="eager")
    parser.add_argument("--image-size", type=int)
    parser.add_argument("--auxiliary-head", action="store_true")
    parser.add_argument("--size", type=networks.size, action="append", default=[], help="of a model of words: NAME=NUMBER")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=0, help="time limit for the start and for each answer; 0: none")
    options = parser.parse_args()
    signal.alarm(options.seconds)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(torch.__version__, flush=True)
    training = Training(options)
    print("ready", flush=True)
    signal.alarm(0)
    for line in sys.stdin:
        signal.alarm(options.seconds)
        print(training.run(int(line)), flush=True)
        signal.alarm(0)


if __name__ == "__main__":
    main()
