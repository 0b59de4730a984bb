"""Shipped graphs, small, under every shipped strategy on an emulated GPU: equal to serial, and trained in bf16."""

import json
import math
import unittest

from tests.emulated_gpu.emulated_case import EmulatedCase, strategies_of
from tests.tools.commands.trainer_case import example


class StrategiesTest(EmulatedCase):

    def each(self, graph, model, *flags, least, leave_out=None):
        strategies = [path for path in strategies_of(model) if leave_out is None or not path.endswith(leave_out)]
        self.assertGreaterEqual(len(strategies), least)
        for strategy in strategies:
            with self.subTest(strategy=strategy):
                self.equal_to_serial(graph, f"--strategy={strategy}", *flags)
                self.trains(graph, f"--strategy={strategy}", *flags)

    def equal_to_serial(self, graph, *flags):
        done = self.on_gpu("verify", "--precision=f32", "--format=json", *flags, graph)
        answer = json.loads(done.stdout)
        self.assertTrue(answer["equal"])
        self.assertEqual(len(answer["steps"]), 3)

    def trains(self, graph, *flags):
        """What was sent is what was predicted, to the byte."""
        done = self.on_gpu("train", "--precision=bf16", "--steps=3", "--format=json", *flags, graph)
        report = json.loads(done.stdout)
        self.assertEqual(report["outcome"], "finished")
        self.assertTrue(math.isfinite(report["epochs"][-1]["training_loss"]))
        for group in report["groups"]:
            self.assertEqual(group["counted_payload_bytes"], group["predicted_payload_bytes"])

    def test_mlp(self):
        self.each(example("mlp.pbtxt"), "mlp", "--batch=8", least=4)

    def test_lenet5(self):
        self.each(example("lenet5.pbtxt"), "lenet5", "--batch=8", least=9)

    def test_mini_inception(self):
        self.each(example("mini_inception.pbtxt"), "mini_inception", "--batch=4", least=3)

    def test_inception_v3(self):
        sizes = ["--batch=8", "--channel-limit=4", "--classes=5"]
        graph = self.build("inception-v3", "--image-size=75", *sizes)
        self.each(graph, "inception_v3", leave_out="/pipeline.pbtxt", least=5)
        # Its micro-batches are of one sample, and so must be those of whose statistics a batch norm is.
        graph = self.build("inception-v3", "--image-size=139", "--statistics-samples=1", *sizes)
        strategy = f"--strategy={example('inception_v3/pipeline.pbtxt')}"
        self.equal_to_serial(graph, strategy)
        self.trains(graph, strategy)

    def under_flags(self, graph):
        for split in ["--dp=1", "--dp=2", "--mp=2"]:
            with self.subTest(split=split):
                self.equal_to_serial(graph, split)
                self.trains(graph, split)

    def test_resnet_50(self):
        self.under_flags(self.build("resnet-50", "--image-size=33", "--batch=8", "--channel-limit=4", "--classes=5"))

    def test_mobilenet_v3_large(self):
        self.under_flags(
            self.build("mobilenet-v3-large", "--image-size=33", "--batch=8", "--channel-limit=8", "--classes=5"))

    def test_convnext_tiny(self):
        self.under_flags(self.build("convnext-tiny", "--image-size=32", "--batch=4", "--width=0.04", "--classes=5"))

    def test_big_lstm(self):
        graph = self.build("big-lstm", "--batch=8", "--vocabulary=60", "--hidden=12", "--projection=6", "--samples=20",
                           "--length=6")
        self.each(graph, "big_lstm", least=5)

    def test_gnmt(self):
        graph = self.build("gnmt", "--batch=8", "--vocabulary=50", "--hidden=8", "--source-length=9",
                           "--target-length=8", "--buckets=2")
        self.each(graph, "gnmt", least=5)

    def test_gpt2(self):
        graph = self.build("gpt2", "--batch=4", "--length=8", "--vocabulary=32", "--hidden=24", "--heads=4",
                           "--layers=2")
        self.each(graph, "gpt2", least=4)

    def test_bert_base(self):
        graph = self.build("bert-base", "--batch=4", "--length=8", "--vocabulary=32", "--hidden=24", "--heads=4",
                           "--layers=2")
        self.each(graph, "bert_base", least=3)

    def test_vit_b_16(self):
        graph = self.build("vit-b-16", "--batch=4", "--image-size=24", "--patch=8", "--hidden=24", "--heads=4",
                           "--layers=2", "--classes=5")
        self.each(graph, "vit_b_16", least=3)


if __name__ == "__main__":
    unittest.main()
