"""`trainer fit`, as its users run it."""

import json
import re
import unittest

from tests.tools.commands.trainer_case import LENET, TrainerCase


class FitTest(TrainerCase):
    def fit(self, *flags):
        return json.loads(self.call("fit", "--format=json", *flags, LENET).stdout)

    def test_is_the_plan_that_searches_find(self):
        answer = self.fit("--on=8xV100", "--batch=128", "--price=2.5")
        plan = json.loads(self.call("plan", "--search=auto", "--cluster=dgx1_v100", "--ranks=8", "--device=cuda",
                                    "--batch=128", "--format=json", LENET).stdout)
        slowest = max(rank["time"]["step_seconds"] for rank in plan["ranks"])
        self.assertAlmostEqual(answer["step_seconds"], slowest, places=9)
        self.assertAlmostEqual(answer["samples_per_second"] * slowest, 128, places=2)
        self.assertEqual(answer["memory_bytes"], max(rank["memory"]["total_bytes"] for rank in plan["ranks"]))
        self.assertAlmostEqual(answer["price_per_million_samples"], 8 * 2.5 / 3600 * slowest / 128 * 1e6, places=6)
        self.assertAlmostEqual(answer["step_seconds_most"], 2.7 * slowest, places=8)  # docs/measured.md 5.3
        self.assertNotIn("repairs", answer)
        again = self.call(*answer["next"].split()[1:]).stdout
        self.assertIn("it fits", again)

    def test_reads_as_a_few_lines(self):
        text = self.call("fit", "--on=h100", "--batch=64", LENET).stdout
        self.assertRegex(text, r"(?m)^fits     on 1 x h100: 0\.\d\d GiB of 79\.65 GiB on the fullest, 0 %$")
        step = re.search(r"(?m)^step     ([\d.]+) ms, simulated at peak rates; up to ([\d.]+) ms with their error, "
                         r"2\.7 times\n         .*no step was measured on such a device$", text)
        self.assertAlmostEqual(float(step[2]), 2.7 * float(step[1]), delta=0.002)
        self.assertIn("predict it from measured kernels", self.call("fit", "--on=2xcores", LENET).stdout)
        self.assertRegex(text, r"(?m)^rate     [\d,]+ samples/s$")
        self.assertRegex(text, r"(?m)^next     trainer plan --search=auto --cluster=hgx_h100 --ranks=1 --device=cuda")

    def test_repairs_what_does_not_fit(self):
        self.assertLess(self.fit("--on=1xV100", "--batch=256")["memory_bytes"], 32 << 30)
        answer = self.fit("--on=1xV100", "--batch=256", "--memory=40MB")
        self.assertLessEqual(answer["memory_bytes"], 40_000_000)
        self.assertEqual(answer["memory_limit_bytes"], 40_000_000)
        self.assertIn("and 40000000 are allowed", answer["repairs"][0])
        self.assertIn("it fits", self.call(*answer["next"].split()[1:]).stdout)
        none = self.call("fit", "--on=1xV100", "--batch=256", "--memory=10000", LENET, code=4)
        self.assertIn("none of the repairs fits", none.stderr)

    def test_says_which_devices_there_are(self):
        for on, says in [("8xH10", "did you mean 'h100'?"), ("9xV100", "has at most 8 V100"),
                         ("0xV100", "expected a number and a kind of device"), ("x", "no such device is known"),
                         ("8x", "expected a number and a kind of device")]:
            self.refused(2, says, "fit", "--on=" + on, LENET)
        self.refused(2, "fit needs --on=TEXT: number and kind of devices, as 8xH100", "fit", LENET)


if __name__ == "__main__":
    unittest.main()
