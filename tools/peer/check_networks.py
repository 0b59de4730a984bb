"""Trains a shipped model here and in Partita from the same parameters on the same batches, and compares.

One step in f32: the losses are within 1e-5 of each other, and the gradients of half of the parameters are at most twice
as far from those of a run in f64 as PyTorch's own, those of each at most four times: what rounding leaves of a small
gradient is a matter of luck, up to 2.2 times of seeds that were tried. The worst are printed. Of tables whose gradients
are rows that is held of what the step makes of the table. Of several steps, losses and what they have made of
parameters are within 1e-4, or ours of a parameter are nearer to f64 than PyTorch's. With --f64: all losses, and what
the steps have made of each parameter and running statistic, are within 1e-6, of LSTMs and transformers 1e-8; beside it
stands how far PyTorch comes from itself where the last bits of its first weights are others. That grows from step to
step, at the models' own rates of learning by up to a thousand times a step: `--rate=0.01` slows both alike, so that 20
steps can be compared at all. `--clip-norm=0.02` does the same with the norm that gradients are clipped to, which these
small models never reach otherwise; what norms the steps had and in how many it acted is printed. Where a step draws
(big-lstm: the words of its softmax), PyTorch takes what ours has drawn.

  PEER/bin/python tools/peer/check_networks.py --model=inception-v3 --batch=2 BUILD_MODEL STEP_VALUES
  PEER/bin/python tools/peer/check_networks.py --model=big-lstm --size=vocabulary=500 --size=samples=100 \
      --size=hidden=24 --size=projection=12 --f64 --steps=20 BUILD_MODEL STEP_VALUES
  PEER/bin/python tools/peer/check_networks.py --model=gnmt --size=vocabulary=200 --size=hidden=24 \
      --size=source-length=9 --size=target-length=8 --f64 --steps=20 BUILD_MODEL STEP_VALUES
  PEER/bin/python tools/peer/check_networks.py --model=gpt2 --size=vocabulary=61 --size=length=9 --size=hidden=24 \
      --size=heads=4 --size=layers=2 --f64 --steps=20 BUILD_MODEL STEP_VALUES
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import networks
import torch
from safetensors.torch import load_file, save_file

MOST_OF_LOSS = 1e-5
MOST_OF_STEPS = 1e-4
MOST_OF_F64 = 1e-6  # of convolutional networks, which norms and pools make steeper
MOST_OF_F64_OF_OTHERS = 1e-8
LAST_BITS = 1e-15
TIMES, MOST_TIMES = 2, 4


def change(graph, what, pattern, changed):
    """Replaces the number behind what the pattern finds, once, by what is made of it."""
    with open(graph) as file:
        text = file.read()
    text, count = re.subn(f"({pattern})([^\\s}}]+)", lambda m: f"{m[1]}{changed(float(m[2]))!r}", text)
    if count != 1:
        sys.exit(f"{graph}: found {count} {what}, one is needed")
    with open(graph, "w") as file:
        file.write(text)


def copied(tensor):
    return tensor.double().clone(memory_format=torch.contiguous_format)


def train(net, batches, batch, **recipe):
    """Losses, the first step's gradients, the last states and what became of tables, by our names, in f64; where
    gradients are clipped, their norm in each step."""
    net.train()
    net.forget()
    training = net.recipe(batch, **recipe)
    losses, values, norms = [], {}, []
    tables = {ours: copied(tensor.detach()) for ours, tensor, _, _ in net.named_tensors() if ours in net.tables}
    for step, fields in enumerate(batches):
        training.zero_grad()
        loss = net.loss(**fields)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            for ours, tensor, is_parameter, to_ours in net.named_tensors():
                if is_parameter and ours not in tables:
                    values["gradient/" + ours] = copied(to_ours(tensor.grad))
        training.update()
        if "clip_norm" in recipe:
            norms.append(training.norm.item())
        training.follow_schedule()
    for ours, tensor, _, to_ours in net.named_tensors():
        values["state/" + ours] = copied(to_ours(tensor.detach()))
    values = {name: value for name, value in values.items() if not name.endswith(getattr(net, "vanishing", ()))}
    for table, before in tables.items():
        values["update/" + table] = values["state/" + table] - before
    values["norms"] = norms
    values["losses"] = torch.tensor(losses, dtype=torch.float64)
    return values


def build(options, folder):
    """Our graph, in a file."""
    graph = os.path.join(folder, "graph.pbtxt")
    flags = [f"--batch={options.batch}", f"--output={graph}"]
    if "dropout" in networks.settings_of(options.model):
        flags.append("--dropout-rate=0")
    flags += [f"--{name}={value}" for name, value in options.size]
    if options.image_size:
        flags.append(f"--image-size={options.image_size}")
    if options.auxiliary_head:
        flags.append("--auxiliary-head")
    subprocess.run([options.build_model, options.model, *flags], check=True)
    change(graph, "learning rates", r"learning_rate \{.*?base: ", lambda rate: rate * options.rate)
    if options.clip_norm:
        change(graph, "clip norms", "clip_norm: ", lambda _: options.clip_norm)
    return graph


class Comparison:

    def __init__(self, options, folder, graph):
        self.options, self.folder = options, folder
        changes = {"image_size": options.image_size, "auxiliary_head": options.auxiliary_head or None, "dropout": 0.0}
        torch.manual_seed(options.seed)
        self.net = networks.make(options.model, **changes, **dict(options.size))
        self.batches = self.net.batches(options.steps, options.batch)
        self.start = {name: tensor.clone() for name, tensor in self.net.state_dict().items()}
        self.graph = graph
        self.drawn = self.draw()

    def draw(self):
        """What ours draws in each step, which knows nothing of the values."""
        if not self.net.drawn:
            return [{} for _ in self.batches]
        values = self.ours(torch.float32)
        return [{name: values["value/" + ours][step].long() for name, ours in self.net.drawn.items()}
                for step in range(len(self.batches))]

    def theirs(self, dtype, change=0.0):
        self.net.to(dtype)
        self.net.load_state_dict(self.start)
        with torch.no_grad():
            for tensor in self.net.parameters():
                tensor.mul_(1 + change * torch.randn_like(tensor))
        cast = lambda field: field.to(dtype) if field.is_floating_point() else field
        batches = [{**{name: cast(field) for name, field in batch.items()}, **drawn}
                   for batch, drawn in zip(self.batches, self.drawn)]
        clipping = {"clip_norm": self.options.clip_norm} if self.options.clip_norm else {}
        return train(self.net, batches, self.options.batch, rate=self.options.rate, **clipping)

    def ours(self, dtype):
        self.net.to(dtype)
        self.net.load_state_dict(self.start)
        path = lambda name: os.path.join(self.folder, name)
        before = {ours: to_ours(tensor.detach()) for ours, tensor, _, to_ours in self.net.named_tensors()}
        save_file({name: tensor.contiguous() for name, tensor in before.items()}, path("before"))
        fields = [self.net.to_ours(batch, dtype) for batch in self.batches]
        save_file({name: torch.stack([batch[name] for batch in fields]) for name in fields[0]}, path("batches"))
        precision = {torch.float32: "f32", torch.float64: "f64"}[dtype]
        observed = [f"--observe={','.join(self.net.drawn.values())}"] if self.net.drawn else []
        subprocess.run([self.options.step_values, "run", f"--precision={precision}", f"--load={path('before')}",
                        f"--batches={path('batches')}", f"--output={path('values')}",
                        f"--threads={self.options.threads}", *observed, self.graph], check=True)
        values = load_file(path("values"))
        for table in self.net.tables:
            values["update/" + table] = values["state/" + table] - before[table].double()
        return values


def error(a, b):
    """Relative, of the whole tensor."""
    return ((a - b).norm() / b.norm().clamp_min(1e-300)).item()


def held_against_f64(ours, theirs, judge, updates):
    """(errors of ours over PyTorch's, ours, PyTorch's, name) of gradients and, of tables, updates: largest first."""
    rows = []
    for name, exact in judge.items():
        if name.startswith("gradient/") or (updates and name.startswith("update/")):
            mine, other = error(ours[name], exact), error(theirs[name], exact)
            rows.append((mine / max(other, 1e-300), mine, other, name))
    return sorted(rows, reverse=True)


def check_f32(comparison):
    judge, theirs = comparison.theirs(torch.float64), comparison.theirs(torch.float32)
    ours = comparison.ours(torch.float32)
    loss = abs(ours["losses"][0] / theirs["losses"][0] - 1).item()
    print(f"loss {ours['losses'][0]:.8f}, PyTorch's {theirs['losses'][0]:.8f}, in f64 {judge['losses'][0]:.8f}: "
          f"differs by {loss:.2e}, allowed is {MOST_OF_LOSS:.0e}")
    one_step = comparison.options.steps == 1
    rows = held_against_f64(ours, theirs, judge, updates=one_step)
    ratios = [row[0] for row in rows]
    median = ratios[len(ratios) // 2]
    print(f"{len(rows)} gradients: errors of ours over PyTorch's: median {median:.2f}, most {ratios[0]:.2f}, allowed are "
          f"{TIMES} and {MOST_TIMES}")
    for ratio, mine, other, name in rows[:comparison.options.show]:
        print(f"  {ratio:6.2f}  ours {mine:.2e}  PyTorch's {other:.2e}  {name}")
    show_clipping(comparison, theirs)
    same = one_step or check_steps(ours, theirs, judge)
    return loss <= MOST_OF_LOSS and median <= TIMES and ratios[0] <= MOST_TIMES and same


def show_clipping(comparison, theirs):
    most, norms = comparison.options.clip_norm, theirs["norms"]
    if most:
        print(f"gradients, of norms from {min(norms):.3g} to {max(norms):.3g}, were clipped to {most} in "
              f"{sum(norm > most for norm in norms)} of {len(norms)} steps")


# What PyTorch itself has wrong in f32 is no measure: Adam divides a gradient by its size, so of one that is nothing but
# what rounding leaves, as that of gnmt's attention/bias (1e-11 of the others in f64: a softmax does not see what all of
# its scores have in common), every step is noise of the size of the rate, in both programs.
def check_steps(ours, theirs, judge):
    losses, rows = differences(ours, theirs)
    states = [(difference, name) for difference, name in rows if name.startswith("state/")]
    closer = [(difference, name) for difference, name in states if difference > MOST_OF_STEPS
              and error(ours[name], judge[name]) < error(theirs[name], judge[name])]
    worst, name = next((row for row in states if row not in closer), (0.0, "no other"))
    print(f"{len(ours['losses'])} steps: losses differ by {losses:.2e}, states after the last by {worst:.2e} ({name}), "
          f"allowed is {MOST_OF_STEPS:.0e}")
    for difference, name in closer:
        print(f"  but for {difference:.2e} of {name}: ours is {error(ours[name], judge[name]):.2e} from f64, PyTorch's "
              f"{error(theirs[name], judge[name]):.2e}")
    return max(losses, worst) <= MOST_OF_STEPS


def differences(values, of):
    """The largest of the losses, and of everything else with its name, largest first."""
    losses = (values["losses"] / of["losses"] - 1).abs().max().item()
    rows = [(error(values[name], exact), name) for name, exact in of.items() if "/" in name]
    return losses, sorted(rows, reverse=True)


def check_f64(comparison):
    theirs, ours = comparison.theirs(torch.float64), comparison.ours(torch.float64)
    losses, rows = differences(ours, theirs)
    own_losses, own_rows = differences(comparison.theirs(torch.float64, change=LAST_BITS), theirs)
    convolutional = comparison.options.model in (*networks.NETWORKS, "unet")
    most = MOST_OF_F64 if convolutional else MOST_OF_F64_OF_OTHERS
    print(f"{comparison.options.steps} steps in f64: losses differ by {losses:.2e}, {len(rows)} gradients of the first "
          f"step and states after the last by {rows[0][0]:.2e}, allowed is {most:.0e}")
    show_clipping(comparison, theirs)
    print(f"PyTorch from itself, its first weights changed by {LAST_BITS:.0e}: {own_losses:.2e} and {own_rows[0][0]:.2e}")
    for difference, name in rows[:comparison.options.show]:
        print(f"  {difference:.2e}  {name}")
    return max(losses, rows[0][0]) <= most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_model")
    parser.add_argument("step_values")
    parser.add_argument("--model", choices=sorted(set(networks.NAMES) - {"conv-stack", "wide-mlp"}), required=True)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--image-size", type=int)
    parser.add_argument("--size", type=networks.size, action="append", default=[], help="of a model of words: NAME=NUMBER")
    parser.add_argument("--auxiliary-head", action="store_true")
    parser.add_argument("--f64", action="store_true")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1.0, help="factor of the model's learning rate")
    parser.add_argument("--clip-norm", type=float, help="in place of the norm that the model's gradients are clipped to")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="the worst so many")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, folder, build(options, folder))
        equal = check_f64(comparison) if options.f64 else check_f32(comparison)
    print("equal" if equal else "NOT equal")
    return 0 if equal else 6


if __name__ == "__main__":
    sys.exit(main())
