"""Passes of the compiler by name: their list, graphs after them, programs without them."""

import re
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TrainerCase, example

DOCUMENT = "docs/reference/commands.md"

with open(DOCUMENT, encoding="utf-8") as page:
    SECTION = re.search(r"\n## 9 .*?(?=\n## |\Z)", page.read(), re.DOTALL)[0]


class PassesTest(TrainerCase):

    def listed(self, flag):
        """What an unknown name is answered with."""
        error = self.call("plan", f"--{flag}=none", MLP, code=2).stderr
        return re.search(r"expected (?:one of )?(.*)\n", error)[1].split(", ")

    def test_are_listed_in_the_reference(self):
        every, optional = self.listed("dump-after"), self.listed("disable-pass")
        self.assertEqual(re.findall(r"^\| `(\w+)` \|", SECTION, re.MULTILINE), every)
        self.assertEqual(re.findall(r"^\| `(\w+)` \| yes \|", SECTION, re.MULTILINE), optional)
        self.assertLessEqual({"bucket_all_reduces", "fuse_moves", "recompute"}, set(optional))

    def test_graphs_are_printed_after_them(self):
        dumped = self.call("plan", "--dump-after=partition", "--dp=2", MLP).stdout
        self.assertRegex(dumped, r"^// train after partition\n(.|\n)*\n// evaluate after partition\n")
        later = self.call("plan", "--dump-after=bucket_all_reduces", "--dp=2", MLP).stdout
        self.assertNotEqual(dumped, later)
        self.assertIn("flag --dump-after is 'partitions'; expected one of prepare_training, ",
                      self.call("plan", "--dump-after=partitions", MLP, code=2).stderr)
        self.assertIn("flag --dump-after is 'recompute', a pass that does not run here",
                      self.call("plan", "--dump-after=recompute", MLP, code=2).stderr)

    def test_a_dump_has_no_other_form(self):
        for flag in ("--format=json", "--format=dot", "--full", "--page=p.html", "--trace=t.json",
                     "--save-strategy=s.pbtxt", "--explain", "--repair", "--diff=" + example("mlp_mixed.pbtxt")):
            with self.subTest(flag=flag):
                self.refused(2, "flags --dump-after and --" + flag[2:].partition("=")[0], "plan",
                             "--dump-after=partition", "--cluster=dgx1_v100", flag, MLP)
        self.call("plan", "--dump-after=partition", "--explain=false", "--repair=false", "--format=text", MLP)

    def test_those_that_are_not_needed_can_be_disabled(self):
        for command in (["plan"], ["verify", "--mock-data"], ["train", "--mock-data"],
                        ["plan", "--search=auto", "--cluster=dgx1_v100"]):
            for names, says in (("partition", "names 'partition', which programs need"),
                                ("fuse_moves,fuse_move", "names 'fuse_move', which is no pass")):
                with self.subTest(command=command, names=names):
                    self.refused(2, f"flag --disable-pass {says}; expected ", *command, "--disable-pass=" + names, MLP)
        self.refused(2, "a list of names with commas between them", "plan", "--disable-pass=,", MLP)
        optional = self.listed("disable-pass")
        self.call("verify", "--mock-data", "--steps=2", "--dp=2", "--mp=2", "--disable-pass=" + ", ".join(optional), LENET)
        for name in ("bucket_all_reduces", "fuse_moves"):
            dumped = self.call("plan", "--disable-pass=" + name, "--dump-after=" + name, MLP, code=2).stderr
            self.assertIn(f"flag --dump-after is '{name}', a pass that does not run here", dumped)
            self.call("verify", "--mock-data", "--steps=1", "--dp=2", "--mp=2", "--disable-pass=" + name, LENET)

    def test_switches_that_are_false_are_not_given(self):
        plain = self.call("plan", MLP).stdout
        self.assertEqual(self.call("plan", "--explain=false", "--repair=false", MLP).stdout, plain)
        self.call("train", "--mock-data", "--batch=8", "--steps=1", "--evaluate-every=0", MLP)


if __name__ == "__main__":
    unittest.main()
