"""`trainer sweep`, as its users run it."""

import json
import os
import unittest

from tests.tools.commands.trainer_case import LENET, TrainerCase

CLUSTER = os.path.abspath("partitioner/clusters/dgx1_v100.pbtxt")
GNMT = os.path.abspath("tools/curves/gnmt.pbtxt")

CURVE = """schema_version: 1
name: "doubling"
source: "made for this test"
points { batch: 8 epochs: 1 }
points { batch: 16 epochs: 2 }
points { batch: 64 epochs: 8 }
"""


class SweepTest(TrainerCase):
    def sweep(self, *flags):
        return json.loads(self.call("sweep", "--batch=8", "--cluster=" + CLUSTER, "--format=json", *flags, LENET).stdout)

    def test_ways_to_use_a_cluster(self):
        swept = self.sweep()
        self.assertEqual([(point["devices"], point["devices_of_a_replica"], point["batch"])
                          for point in swept["points"]],
                         [(1, 1, 8), (2, 1, 16), (2, 2, 8), (4, 1, 32), (4, 2, 16), (8, 1, 64), (8, 2, 32)])
        alone = swept["points"][0]["step_seconds"]
        for point in swept["points"]:
            self.assertAlmostEqual(point["speedup"], point["batch"] / 8 * alone / point["step_seconds"], places=9)
        plan = json.loads(self.call("plan", "--dp=4", "--batch=32", "--cluster=" + CLUSTER, "--format=json",
                                    LENET).stdout)
        slowest = max(rank["time"]["step_seconds"] for rank in plan["ranks"])
        self.assertAlmostEqual(swept["points"][3]["step_seconds"], slowest, places=12)

    def test_says_how_a_replica_is_split(self):
        (point,) = [point for point in self.sweep()["points"] if point["devices"] == 8 and point["batch"] == 32]
        self.assertRegex(point["flags"], "^--dp=4 --mp=2 --convolutions=[a-z]+ --dense=[a-z]+$")
        plan = json.loads(self.call("plan", *point["flags"].split(), "--batch=32", "--cluster=" + CLUSTER,
                                    "--format=json", LENET).stdout)
        slowest = max(rank["time"]["step_seconds"] for rank in plan["ranks"])
        self.assertAlmostEqual(point["step_seconds"], slowest, places=12)

    def test_a_host_has_as_many_ranks_as_cores(self):
        for flags, devices in ([], {1, 2}), (["--ranks=4"], {1, 2, 4}):
            swept = json.loads(self.call("sweep", "--batch=8", "--cluster=two_cores", "--format=json", *flags,
                                         LENET).stdout)
            self.assertEqual({point["devices"] for point in swept["points"]}, devices)

    def test_a_page(self):
        with open(self.path("curve.pbtxt"), "w") as file:
            file.write(CURVE)
        swept = self.sweep("--curve=curve.pbtxt", "--ranks=4", "--mp=4", "--page=page.html")
        self.assertEqual(len(swept["points"]), 6)
        # A batch twice as large is worth nothing there, and one device no more than many; a replica may be faster.
        self.assertLessEqual(max(point["sooner"] for point in swept["points"] if point["devices_of_a_replica"] == 1), 1)
        with open(self.path("page.html")) as file:
            page = file.read()
        self.assertIn("</svg>", page)
        self.assertEqual(page.count("<polyline"), 3)
        self.assertIn(">devices</text>", page)
        self.assertIn(">Speed-up in time to the accuracy over ", page)

    def test_refusals(self):
        self.refused(2, "sweep needs --cluster=FILE or --profile=FILE", "sweep", LENET)
        self.refused(2, "flag --ranks is 9, but cluster 'dgx-1-v100' has 8 devices", "sweep", "--ranks=9",
                     "--cluster=" + CLUSTER, LENET)
        self.refused(3, "none.pbtxt: cannot open", "sweep", "--curve=none.pbtxt", "--cluster=" + CLUSTER, LENET)
        self.refused(3, "gnmt.pbtxt: ", "sweep", "--batch=4", "--curve=" + GNMT, "--cluster=" + CLUSTER, LENET)
        self.refused(4, LENET + ": a rank needs ", "sweep", "--batch=2048", "--curve=" + GNMT, "--memory=1KiB",
                     "--cluster=" + CLUSTER, LENET)

    def test_a_graph_that_no_device_holds_alone(self):
        needs = json.loads(self.call("plan", "--batch=64", "--cluster=" + CLUSTER, "--format=json", LENET).stdout)
        whole = max(rank["memory"]["total_bytes"] for rank in needs["ranks"])
        swept = json.loads(self.call("sweep", "--batch=64", "--cluster=" + CLUSTER, "--format=json",
                                     f"--memory={whole - 1}", LENET).stdout)
        self.assertEqual(swept["points"][0]["refused"], f"a rank needs {whole} bytes, and {whole - 1} are allowed")
        self.assertEqual(swept["base"], {"devices": 2, "devices_of_a_replica": 2})

    def test_a_profile_is_a_machine(self):
        self.call("calibrate", "--dp=2", "--batch=8", "--steps=2", "--save-profile=here.pbtxt", LENET)
        swept = json.loads(self.call("sweep", "--batch=8", "--ranks=2", "--profile=here.pbtxt", "--format=json",
                                     LENET).stdout)
        self.assertEqual(swept["cluster"], "this-machine")
        self.assertEqual(len(swept["points"]), 3)


if __name__ == "__main__":
    unittest.main()
