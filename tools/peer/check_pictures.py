"""Trains a shipped model on a folder of pictures, by several seeds here and in PyTorch, and compares what they reach.

Both see the same files (FOLDER/train and FOLDER/test, docs/reference/data.md 4) at the same size, the
middles of pictures scaled to it, mirrored or not in training, in batches of as many, from initial values of the same distributions, by the
model's own optimizer and rate. Told is whether the accuracy on the test set after the last epoch, of our seeds the
median, is in the range of PyTorch's. What decides (exit code 6: no) is whether it is in that range widened on either
side by its width: of draws of one distribution, three and three, the median is outside in four cases of ten.

  PEER/bin/python tools/peer/check_pictures.py --model=inception-v3 BUILD_MODEL TRAINER FOLDER

Seeds can be run one at a time, each prints what it reaches: --skip-ours --seeds=1 --first-seed=2; ours, once they are
known, are given with --ours=0.8125,0.79.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import networks
import numpy
import torch
from accuracy_range import verdict
from PIL import Image


def shown(path, size):
    """The middle of a picture scaled to a shorter side of `size`."""
    with Image.open(path) as image:
        image = image.convert("RGB")
        factor = size / min(image.size)
        image = image.resize([max(size, round(side * factor)) for side in image.size], Image.BILINEAR)
        left, top = (image.width - size) // 2, (image.height - size) // 2
        middle = image.crop((left, top, left + size, top + size))
        return torch.from_numpy(numpy.array(middle)).permute(2, 0, 1)


def read(folder, size):
    names = sorted(path.name for path in folder.iterdir())
    paths = [(path, label) for label, name in enumerate(names) for path in sorted((folder / name).rglob("*.*"))]
    images = torch.stack([shown(path, size) for path, _ in paths])
    return images, torch.tensor([label for _, label in paths]), len(names)


def accuracy(net, images, labels, batch):
    net.eval()
    with torch.no_grad():
        guesses = [net(part).argmax(1) for part in images.split(batch)]
    return (torch.cat(guesses) == labels).double().mean().item()


def draw_parameters(net):
    """As build_model's graphs say: where steps are divided by a root with 1 in it, as in Inception-V3's recipe, smaller
    weights learn differently, batch norm or not."""
    for layer in net.layers.values():
        if isinstance(layer, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        elif isinstance(layer, torch.nn.Linear):
            torch.nn.init.xavier_uniform_(layer.weight)
        else:
            continue
        if layer.bias is not None:
            torch.nn.init.zeros_(layer.bias)


class Peer:

    def __init__(self, options):
        self.options = options
        folder = pathlib.Path(options.folder)
        images, self.labels, self.classes = read(folder / "train", options.image_size)
        tests, self.test_labels, _ = read(folder / "test", options.image_size)
        values = images.double() / 255
        mean, deviation = values.mean((0, 2, 3), keepdim=True), values.std((0, 2, 3), keepdim=True, correction=0)
        ready = lambda bytes: ((bytes / 255 - mean) / deviation).float().to(memory_format=torch.channels_last)
        self.images, self.tests = ready(images), ready(tests)

    def accuracy_by(self, seed):
        torch.manual_seed(seed)
        options = self.options
        net = networks.make(options.model, image_size=options.image_size, classes=self.classes)
        draw_parameters(net)
        net.settings["norm"]["momentum"] = options.batch_norm_momentum
        for layer in net.layers.values():
            if isinstance(layer, torch.nn.BatchNorm2d):
                layer.momentum = options.batch_norm_momentum
        net.to(memory_format=torch.channels_last)
        training = net.recipe(options.batch)
        for _ in range(options.epochs):
            net.train()
            order = torch.randperm(len(self.images))
            for rows in order[:len(order) // options.batch * options.batch].view(-1, options.batch):
                images = self.images[rows]
                mirrored = torch.rand(options.batch) < 0.5
                images[mirrored] = images[mirrored].flip(3)
                training.zero_grad()
                net.loss(images, self.labels[rows]).backward()
                training.update()
                training.follow_schedule()
        return accuracy(net, self.tests, self.test_labels, options.batch)


def ours(options, classes, seed):
    with tempfile.TemporaryDirectory() as temporary:
        graph, report = (os.path.join(temporary, name) for name in ("graph.pb", "report.json"))
        subprocess.run([options.build_model, options.model, f"--batch={options.batch}", f"--classes={classes}",
                        f"--image-size={options.image_size}", f"--output={graph}",
                        f"--batch-norm-momentum={options.batch_norm_momentum}"], check=True)
        subprocess.run([options.trainer, "train", f"--data={options.folder}", f"--epochs={options.epochs}", "--flip",
                        f"--threads={options.threads}", f"--seed={seed}", f"--report={report}", graph], check=True)
        with open(report) as file:
            return json.load(file)["epochs"][-1]["test_accuracy"]


def told(who, train):
    began = time.monotonic()
    reached = train()
    print(f"{who}: {reached:.2%} in {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
    return reached


def accuracies(text):
    return [float(accuracy) for accuracy in text.split(",")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_model")
    parser.add_argument("trainer")
    parser.add_argument("folder")
    parser.add_argument("--model", choices=sorted(networks.NETWORKS), default="inception-v3")
    parser.add_argument("--image-size", type=int, default=107)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batch-norm-momentum", type=float, default=0.05, help="a batch's share of what is kept")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3, help="of each")
    parser.add_argument("--first-seed", type=int, default=1)
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--ours", type=accuracies, metavar="ACCURACIES", help="of runs before, as shares; none is run")
    known.add_argument("--skip-ours", action="store_true", help="PyTorch alone, and no verdict")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    peer = Peer(options)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    mine = options.ours
    if mine is None and not options.skip_ours:
        mine = [told(f"ours, seed {seed}", lambda: ours(options, peer.classes, seed)) for seed in seeds]
    theirs = [told(f"PyTorch, seed {seed}", lambda: peer.accuracy_by(seed)) for seed in seeds]
    if mine is None:
        return 0
    text, passes = verdict(mine, theirs)
    print(text)
    return 0 if passes else 6


if __name__ == "__main__":
    sys.exit(main())
