"""GNMT is trained on a parallel text in batches of several sizes: under its shipped strategies as on one rank, by
processes as by threads, interrupted or not."""

import json
import os
import unittest

from tests.tools.commands.data.pair_case import BATCH, SOURCE, TARGET, WORDS, PairCase
from tests.tools.commands.trainer_case import example

BUILD_MODEL = os.path.abspath("tools/models/build_model")


def strategy(name):
    return "--strategy=" + example(f"gnmt/{name}.pbtxt")


class GnmtTest(PairCase):

    def setUp(self):
        super().setUp()
        os.unlink(self.path("model.pbtxt"))
        self.execute(BUILD_MODEL, "gnmt", f"--batch={BATCH}", f"--vocabulary={WORDS}", "--hidden=12", "--layers=2",
                     f"--source-length={SOURCE}", f"--target-length={TARGET}", "--buckets=3", "--steps=300",
                     "--output=model.pbtxt")

    def launch(self, command, *flags):
        return self.call("launch", "--", command, "--data=pairs", "--threads=1", *flags, "model.pbtxt")

    def test_splits_go_the_way_of_one_rank(self):
        reports = {}
        for name in ("serial", "data", "vocabulary", "2x2"):
            split = [] if name == "serial" else [strategy(name)]
            self.train("--epochs=2", *split, f"--report={name}.json")
            reports[name] = json.loads(self.read(name + ".json"))
        self.assertLess(reports["serial"]["test_loss"], reports["serial"]["epochs"][0]["test_loss"])
        for name, report in reports.items():
            self.assertAlmostEqual(report["test_loss"], reports["serial"]["test_loss"], places=4, msg=name)
            for group in report.get("groups", []):
                self.assertEqual(group["counted_wire_bytes"], group["predicted_wire_bytes"], name)

    def test_processes_go_the_way_of_threads(self):
        self.train("--epochs=1", strategy("2x2"), "--save=threads")
        self.launch("train", "--epochs=1", strategy("2x2"), "--save=processes")
        self.assertEqual(self.read("processes"), self.read("threads"))
        decode = ["decode", "--data=pairs", "--threads=1", "--load=threads"]
        self.call(*decode, "--output=alone", "model.pbtxt")
        self.launch("decode", "--load=threads", "--output=together", strategy("2x2"))
        self.assertEqual(self.read("together"), self.read("alone"))

    def test_goes_on_in_the_middle_of_an_epoch(self):
        self.train("--epochs=2", strategy("2x2"), "--save=whole")
        self.train("--epochs=2", strategy("2x2"), "--steps=57", "--checkpoint=kept")
        self.train("--epochs=2", strategy("2x2"), "--checkpoint=kept", "--resume=auto", "--save=again")
        self.assertEqual(self.read("again"), self.read("whole"))


if __name__ == "__main__":
    unittest.main()
