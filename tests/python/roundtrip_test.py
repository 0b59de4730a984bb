"""A module of PyTorch is exported, trained by the trainer, and gets its weights back: what it computes then is what the
trainer's evaluation says. Skipped where Python has no torch."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

TRAINER = os.path.abspath("tools/trainer")
SKIPPED = [name for name in ("torch", "safetensors", "numpy") if importlib.util.find_spec(name) is None]
sys.path.insert(0, "python")


@unittest.skipIf(SKIPPED, f"this Python has no {' and no '.join(SKIPPED)}")
class RoundTripTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments):
        done = subprocess.run([TRAINER, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def evaluated(self, *flags):
        return json.loads(self.call("evaluate", *flags, "--format=json", self.path("model.pt2")))["test_loss"]

    def loss(self, model, images, labels):
        import torch
        with torch.no_grad():
            return torch.nn.functional.cross_entropy(model(images), labels).item()

    def made(self):
        import torch
        torch.manual_seed(5)
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(4 * 16, 3))

    def test_weights_come_back_as_they_were_trained(self):
        import numpy
        import torch

        import partita
        images, labels = torch.randn(24, 1, 8, 8), torch.randint(0, 3, (24,))
        fields = {"image": images.permute(0, 2, 3, 1).numpy(), "label": labels.int().numpy()}
        numpy.savez(self.path("set.npz"), **{f"{use}/{n}": v for use in ("train", "test") for n, v in fields.items()})
        model = self.made().eval()
        partita.export(model, {"image": images[:4], "label": labels[:4]}, torch.nn.functional.cross_entropy,
                       self.path("model.pt2"))
        self.assertFalse(model.training)
        data = [f"--data={self.path('set.npz')}", "--batch=8"]
        self.call("train", *data, "--epochs=3", "--dp=2", "--save=" + self.path("trained.safetensors"),
                  self.path("model.pt2"))
        self.call("convert", self.path("model.pt2"), "--load=" + self.path("trained.safetensors"),
                  "--output=" + self.path("module.safetensors"))
        before = [p.detach().clone() for p in model.parameters()]
        partita.load_into(model, self.path("module.safetensors"))
        # The gradient of a bias in front of a norm is 0, or rounding.
        self.assertTrue(all((p != b).any() for p, b in zip(model.parameters(), before) if p.dim() > 1))
        loss = self.loss(model, images, labels)
        self.assertAlmostEqual(self.evaluated(*data, "--load=" + self.path("trained.safetensors")), loss, 5)
        # Exported again, it begins where it ended.
        partita.export(model, {"image": images[:4], "label": labels[:4]}, torch.nn.functional.cross_entropy,
                       self.path("model.pt2"))
        self.assertAlmostEqual(self.evaluated(*data), loss, 5)

    def test_a_model_is_tuned(self):
        """Its loss is added, its first layer stays, and AdamW does what PyTorch's does."""
        import numpy
        import torch

        import partita
        images, labels = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
        fields = {"image": images.permute(0, 2, 3, 1).numpy(), "label": labels.int().numpy()}
        numpy.savez(self.path("set.npz"), **{f"train/{n}": v for n, v in fields.items()})
        model = self.made()
        model[0].requires_grad_(False)
        partita.export(model, {"image": images}, None, self.path("model.pt2"))
        self.call("train", f"--data={self.path('set.npz')}", "--batch=8", "--steps=4", "--loss=cross_entropy",
                  "--optimizer=adamw,weight_decay=0.1,clip_norm=0.5", "--learning-rate=0.01",
                  "--schedule=step,decay=0.5,decay_steps=2", "--save=" + self.path("trained.safetensors"),
                  self.path("model.pt2"))
        self.call("convert", self.path("model.pt2"), "--loss=cross_entropy",
                  "--load=" + self.path("trained.safetensors"), "--output=" + self.path("module.safetensors"))
        theirs = self.made()
        theirs.load_state_dict(model.state_dict())
        theirs[0].requires_grad_(False)
        trained = [p for p in theirs.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=0.01, weight_decay=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        for _ in range(4):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(theirs(images), labels).backward()
            torch.nn.utils.clip_grad_norm_(trained, 0.5)
            optimizer.step()
            schedule.step()
        before = [p.detach().clone() for p in model.parameters()]
        partita.load_into(model, self.path("module.safetensors"))
        for ours, wanted, was in zip(model.parameters(), theirs.parameters(), before, strict=True):
            self.assertTrue(torch.allclose(ours, wanted, atol=2e-5), (ours - wanted).abs().max())
            self.assertEqual(bool((ours != was).any()), wanted.requires_grad)

    def test_pytorch_goes_on_with_the_optimizers_state(self):
        """5 steps here and 5 in PyTorch are PyTorch's 10, for each optimizer that both have."""
        import copy

        import numpy
        import torch

        import partita
        torch.manual_seed(11)
        images, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        fields = {"image": images.numpy(), "label": labels.int().numpy()}
        numpy.savez(self.path("set.npz"), **{f"{use}/{n}": v for use in ("train", "test") for n, v in fields.items()})

        def step(model, optimizer):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

        for flag, make in (
                ("sgd,momentum=0.9,nesterov=true", lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, nesterov=True)),
                ("adamw,weight_decay=0.1", lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1)),
                ("adagrad", lambda p: torch.optim.Adagrad(p, 0.01)),
                ("rmsprop_torch,momentum=0.5,centered=true",
                 lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5, centered=True))):
            with self.subTest(flag):
                model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
                theirs = copy.deepcopy(model)
                partita.export(model, {"image": images, "label": labels}, torch.nn.functional.cross_entropy,
                               self.path("model.pt2"))
                trained = self.path("trained.safetensors")
                self.call("train", "--data=" + self.path("set.npz"), "--batch=8", "--epochs=5",
                          "--optimizer=" + flag, "--learning-rate=0.01", "--save=" + trained, self.path("model.pt2"))
                for name, more in (("module", []), ("state", ["--optimizer-state"])):
                    self.call("convert", self.path("model.pt2"), "--load=" + trained, *more,
                              f"--output={self.path(name)}.safetensors")
                partita.load_into(model, self.path("module.safetensors"))
                ours = make(model.parameters())
                partita.load_optimizer(ours, model, self.path("state.safetensors"))
                optimizer = make(theirs.parameters())
                for i in range(10):
                    step(theirs, optimizer)
                    if i >= 5:
                        step(model, ours)
                for mine, wanted in zip(model.parameters(), theirs.parameters(), strict=True):
                    self.assertTrue(torch.allclose(mine, wanted, atol=2e-6), (mine - wanted).abs().max())

    def test_what_is_no_batch_is_refused(self):
        import torch

        import partita
        with self.assertRaisesRegex(TypeError, "expected a dict of inputs and a label"):
            partita.export(self.made(), [torch.zeros(2)], torch.nn.functional.mse_loss, self.path("model.pt2"))
        with self.assertRaisesRegex(TypeError, "expected a dict of inputs$"):
            partita.export(self.made(), {}, None, self.path("model.pt2"))
        with self.assertRaisesRegex(ValueError, r"example\['x'\]: expected a tensor whose first dimension is a batch"):
            partita.export(self.made(), {"x": torch.zeros(1, 3), "y": torch.zeros(1)}, torch.nn.functional.mse_loss,
                           self.path("model.pt2"))
        self.assertFalse(os.path.exists(self.path("model.pt2")))


if __name__ == "__main__":
    unittest.main()
