"""Trainings that are killed, stopped and starved come to the same bits; and who looks at them sees what is not so."""

import json
import os
import random
import shutil
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase
from tools.faults import chaos
from tools.faults.reference import Reference, checkpoint_flags, checkpoints


class ChaosTest(TrainerCase):

    def test_a_few_trainings(self):
        trials = chaos.Chaos(TRAINER, MLP, 30)
        for seed, ranks in ((1, 1), (2, 2), (3, 4)):
            trials.run(ranks, 5, random.Random(seed), self.folder)
        found = trials.found()
        self.assertEqual(found["breaches"], [])
        self.assertEqual(found["trials"], {"count": 3, "kept": 3})
        self.assertGreater(found["checkpoints"]["count"], 6)
        self.assertEqual(found["checkpoints"]["kept"], found["checkpoints"]["count"])
        self.assertGreater(trials.kills(), 2)

    def test_a_cable_that_is_cut(self):
        if not chaos.can_make_hosts():
            self.skipTest("this machine makes no network namespaces")
        command = [TRAINER, "train", "--mock-data", "--batch=12", "--threads=1", "--epochs=1000", "--steps=200", "--dp=2"]
        trial = chaos.Trial(Reference(TRAINER, [*command, MLP], chaos.EVERY, self.folder), 2, self.folder)
        trial.run([chaos.Fault("cut cable", delay=0.3)])
        self.assertEqual(trial.breaches, [])
        self.assertNotEqual(trial.hits[0].where, "missed")

    def test_each_kind_gets_its_share(self):
        for seed in range(10):
            kinds = sorted(chaos.KINDS + chaos.OF_TWO_HOSTS)
            faults = chaos.draw_faults(random.Random(seed), 2 * len(kinds), 4, 1.0)
            for half in faults[:len(kinds)], faults[len(kinds):]:
                self.assertEqual(sorted(fault.kind for fault in half), kinds)
            for ranks, two_hosts in (1, True), (4, False):
                here = chaos.draw_faults(random.Random(seed), len(kinds), ranks, 1.0, two_hosts)
                self.assertTrue({fault.kind for fault in here}.isdisjoint(chaos.OF_TWO_HOSTS))
            alone = chaos.draw_faults(random.Random(seed), 20, 1, 1.0)
            self.assertEqual({fault.rank for fault in alone}, {0})
            self.assertTrue({fault.point for fault in alone}.isdisjoint(chaos.OF_SEVERAL))

    def test_sees_what_is_not_the_same(self):
        command = [TRAINER, "train", "--mock-data", "--batch=12", "--threads=1", "--epochs=1", "--steps=8"]
        reference = Reference(TRAINER, [*command, MLP], 4, self.folder)
        model, folder = self.path("model"), self.path("same")
        self.call(*command[1:], *checkpoint_flags(folder, 4, 3), f"--save={model}", MLP)
        self.assertEqual(reference.wrong_model(model) + reference.wrong_checkpoints(folder), [])
        self.assertEqual((reference.compared, reference.same), (2, 2))
        record = os.path.join(checkpoints(folder)[4], "trainer_state.json")
        with open(record, encoding="utf-8") as file:
            text = file.read()
        for field, change, wrong in (("epoch", {"steps": 4, "loss": 1.0, "metrics": []}, 1), ("step", 5, 1)):
            with open(record, "w", encoding="utf-8") as file:
                json.dump({**json.loads(text), field: change}, file)
            self.assertEqual(len(reference.wrong_checkpoints(folder)), wrong, field)
        with open(record, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(reference.wrong_checkpoints(folder), [])
        shard = os.path.join(checkpoints(folder)[8], "rank-00000.safetensors")
        for path, wrong in ((shard, reference.wrong_checkpoints), (model, reference.wrong_model)):
            with open(path, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                last = file.read(1)
                file.seek(-1, os.SEEK_END)
                file.write(bytes([last[0] ^ 1]))
            self.assertEqual(len(wrong(folder if path == shard else path)), 1)
        os.remove(os.path.join(checkpoints(folder)[4], "trainer_state.json"))  # as one that makes room
        self.assertEqual(list(checkpoints(folder)), [8])
        shutil.move(checkpoints(folder)[8], os.path.join(folder, "step-000000000007"))  # which the other did not save
        self.assertRegex("".join(reference.wrong_checkpoints(folder)), "step 7 cannot be read: .*rank-00000.safetensors")


if __name__ == "__main__":
    unittest.main()
