"""The page of `plan --page`: the step, its memory, and its blocks, of which equal ones are folded."""

import itertools
import json
import math
import os
import re
import unittest

from tests.tools.commands.page.page_reader import Page, themes
from tests.tools.commands.trainer_case import TrainerCase, example

BUILD_MODEL = os.path.abspath("tools/models/build_model")
V100 = "--cluster=dgx1_v100"
SPLIT = "--strategy=" + example("mini_inception_2x2.pbtxt")
INCEPTION = example("mini_inception.pbtxt")


def as_deuteranopes_see(colour):
    """#rrggbb as it looks without green receptors, by a linear map of linear light."""
    red, green, blue = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055)**2.4 for part in (red, green, blue)]
    matrix = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    seen = [min(max(sum(m * part for m, part in zip(row, linear)), 0), 1) for row in matrix]
    return [12.92 * part if part <= 0.0031308 else 1.055 * part**(1 / 2.4) - 0.055 for part in seen]


class PlanPageTest(TrainerCase):

    def page(self, name="page.html"):
        return Page(self.path(name))

    def gpt2(self, layers, *flags):
        self.execute(BUILD_MODEL, "gpt2", f"--layers={layers}", "--hidden=64", "--heads=4", "--vocabulary=512",
                     "--length=32", "--batch=4", "--output=g.pbtxt")
        self.call("plan", V100, "--page=page.html", *flags, "g.pbtxt")
        return self.page()

    def test_draws_a_page(self):
        text = self.call("plan", "--explain", SPLIT, V100, "--page=page.html", INCEPTION).stdout
        page = self.page()
        self.assertEqual(len(re.findall(">rank [01], stream [01]</text>", page.source)), 4)
        for share in ("forward: ", "all_reduce: ", "update: ", "waiting: "):
            self.assertIn("<title>" + share, page.source)
        self.assertIn(text.splitlines()[0] + "\n", page.text)
        self.assertRegex(page.source, r"<title>[^<]* on [^<]*: data:\d")  # the strategy
        self.assertEqual(page.source.count(">time, us</text>"), 2)
        self.assertRegex(page.text, r"Memory of rank \d: an arena of [\d.]+[KMG]iB")
        self.assertEqual(page.count("meta", name="viewport"), 1)
        plan = json.loads(self.call("plan", SPLIT, V100, "--format=json", INCEPTION).stdout)
        self.assertEqual(len(page.table("Bytes of a step")), len(plan["groups"]))
        text = self.call("plan", SPLIT, V100, INCEPTION).stdout
        self.assertEqual(self.call("plan", SPLIT, V100, "--page=same.html", INCEPTION).stdout, text)
        self.assertEqual(self.page("same.html").source, page.source)

    def test_equal_blocks_are_shown_once(self):
        four, twelve = self.gpt2(4).source, self.gpt2(12).source
        self.assertIn("block1 ... block4 × 4: ", four)
        self.assertIn("block1 ... block12 × 12: ", twelve)
        self.assertEqual(four.count("</details>"), twelve.count("</details>"))
        self.assertEqual(twelve.count(">block*/query/bias<"), 1)
        # Their time is that of all: together with the other blocks the time of all launches of the rank.
        self.call("plan", V100, "--trace=t.json", "g.pbtxt")
        with open(self.path("t.json")) as file:
            spans = [event["dur"] for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
        bars = [float(us) for us in re.findall(r">[^<>]*: ([\d.]+) us<title>", twelve)]
        self.assertAlmostEqual(sum(bars), sum(spans), delta=0.01 * sum(spans))

    def test_blocks_that_are_split_otherwise_are_not_folded_together(self):
        with open(example("gpt2/tensor.pbtxt")) as file:
            strategy = file.read()
        with open(self.path("s.pbtxt"), "w") as file:
            file.write(strategy.replace("\nops", '\nops { pattern: "block3/*" axes { axis: "model" split: "samples" } }'
                                        "\nops", 1))
        self.assertIn("block1 ... block4 × 4: ", self.gpt2(4, "--strategy=" + example("gpt2/tensor.pbtxt")).source)
        self.assertIn("block1 ... block2 × 2: ", self.gpt2(4, "--strategy=s.pbtxt").source)

    def test_the_limit_of_memory_is_drawn(self):
        self.assertIn("arena", self.gpt2(2).text)
        self.assertRegex(self.gpt2(2, "--memory=32MiB").text, r"limit\s+32")

    def test_colours_differ_for_deuteranopes(self):
        self.call("plan", SPLIT, V100, "--page=page.html", INCEPTION)
        kinds = ("forward", "backward", "update", "collective", "waiting")
        for theme in themes(self.page().source):
            for group in (kinds, ("line0", "line1")):
                for one, other in itertools.combinations(group, 2):
                    apart = math.dist(as_deuteranopes_see(theme[one]), as_deuteranopes_see(theme[other]))
                    self.assertGreater(apart, 0.2, (one, other))


if __name__ == "__main__":
    unittest.main()
