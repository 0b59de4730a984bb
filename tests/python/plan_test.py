"""partita.plan: what it says is what `trainer plan` says, and a notebook can show it."""

import html
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.abspath("python"), os.path.abspath("../python_wheels/site")]
os.environ["PARTITA_LIBRARY"] = os.path.abspath("partita/c/libpartita.so.0")

import numpy  # noqa: E402

import partita  # noqa: E402

TRAINER = os.path.abspath("tools/trainer")
EXAMPLES = "tools/models/examples/"
PROGRAM = "tests/importer/models/blocks.pt2"


def trainer(*flags):
    return subprocess.run([TRAINER, "plan", "--deterministic", *flags], capture_output=True, text=True)


class Elements(html.parser.HTMLParser):
    """The elements of a page; fails where they are not closed in turn."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open = [], []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


class PlanTest(unittest.TestCase):

    def assert_planned(self, plan, *flags):
        """The plan's JSON is the trainer's, and its attributes are what that says."""
        done = trainer("--format=json", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(plan.json, done.stdout)
        said = json.loads(done.stdout)
        self.assertEqual(plan.details, said)
        self.assertEqual(plan.ranks, len(said["ranks"]))
        self.assertEqual(plan.wire_bytes, sum(int(group["wire_bytes"]) for group in said["groups"]))
        self.assertEqual(plan.memory_bytes, max(int(rank["memory"]["total_bytes"]) for rank in said["ranks"]))
        if not said["cluster"]:
            self.assertIsNone(plan.step_seconds)
            return
        slowest = max((rank["time"] for rank in said["ranks"]), key=lambda time: time["step_seconds"])
        self.assertEqual((plan.step_seconds, plan.compute_seconds, plan.exposed_seconds, plan.idle_seconds),
                         tuple(slowest[part + "_seconds"] for part in ("step", "compute", "exposed", "idle")))
        self.assertAlmostEqual(plan.compute_seconds + plan.exposed_seconds + plan.idle_seconds, plan.step_seconds, 9)
        self.assertEqual(plan.samples_per_second, plan.batch / plan.step_seconds)
        rooms = [rank["room"] for rank in said["ranks"]]
        self.assertEqual(plan.device_used_bytes, max(int(room["used_bytes"]) for room in rooms))
        self.assertEqual(plan.device_memory_bytes, int(rooms[0]["memory_bytes"]))

    def test_says_what_the_trainer_says(self):
        mlp, lenet5, inception = (EXAMPLES + name + ".pbtxt" for name in ("mlp", "lenet5", "mini_inception"))
        plan = partita.plan(mlp, devices=2, batch=32)
        self.assert_planned(plan, "--dp=2", "--batch=32", mlp)
        self.assertEqual((plan.split, plan.batch, plan.cluster), ("data:2 model:1", 32, None))
        plan = partita.plan(lenet5, split={"mp": 2}, cluster="dgx_a100", device="cuda", memory="2GiB")
        self.assert_planned(plan, "--mp=2", "--cluster=dgx_a100", "--device=cuda", "--memory=2GiB", lenet5)
        self.assertEqual((plan.cluster, plan.memory_limit_bytes), ("dgx-a100", 2 << 30))
        plan = partita.plan(inception, split=EXAMPLES + "mini_inception_2x2.pbtxt", cluster="dgx1_v100", processes=True)
        self.assert_planned(plan, "--strategy=" + EXAMPLES + "mini_inception_2x2.pbtxt", "--cluster=dgx1_v100",
                            "--processes", inception)
        plan = partita.plan(mlp, split="auto", devices=2)
        self.assert_planned(plan, "--search=auto", "--ranks=2", "--cluster=two_cores", mlp)
        self.assertEqual(plan.split, plan.details["finalists"][0]["plan"])
        plan = partita.plan(PROGRAM, devices=2)
        self.assert_planned(plan, "--dp=2", PROGRAM)

    def test_takes_models_and_settings_of_sessions(self):
        with open(EXAMPLES + "mlp.pbtxt", encoding="utf-8") as file:
            model = partita.Model.parse(file.read()).with_batch(16)
        plan = partita.plan(model, epochs=3, data="nowhere", learning_rate=0.5, save="never.safetensors")
        self.assertEqual((plan.ranks, plan.batch), (1, 16))
        self.assertFalse(os.path.exists("never.safetensors"))

    def test_is_shown_by_notebooks(self):
        plan = partita.plan(EXAMPLES + "mlp.pbtxt", split="auto", devices=2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            done = trainer("--search=auto", "--ranks=2", "--cluster=two_cores", "--page=" + path, EXAMPLES + "mlp.pbtxt")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(plan.page, file.read())
        # A frame without scripts: its styles and those of the notebook do not meet.
        ((tag, attributes),) = Elements(plan._repr_html_()).found
        self.assertEqual((tag, attributes["srcdoc"]), ("iframe", plan.page))
        self.assertIn("sandbox", attributes)
        inner = Elements(attributes["srcdoc"])
        tags = [tag for tag, _ in inner.found]
        self.assertIn("svg", tags)
        self.assertIn("table", tags)
        self.assertFalse({"script", "link", "img", "iframe", "object", "embed"} & set(tags))
        self.assertNotRegex(attributes["srcdoc"], r"https?://|@import|url\(")
        for _, named in inner.found:
            self.assertFalse({name for name in named if name.startswith("on") or name in ("src", "href")})
        self.assertRegex(repr(plan), r"^<Plan .*: 2 ranks, a step of 64 takes [\d.]+ ms on two-cores, [\d.]+ MiB on the "
                                     r"fullest rank>$")
        plain = partita.plan(EXAMPLES + "mlp.pbtxt")
        self.assertIsNone(plain._repr_html_(), "then a notebook shows the text")
        self.assertRegex(repr(plain), r"^<Plan .*: 1 rank, [\d.]+ (KiB|MiB) on the fullest rank>$")

    def test_is_trained_as_planned(self):
        random = numpy.random.default_rng(3)
        data = {"images": random.standard_normal((96, 28, 28, 1), dtype=numpy.float32),
                "labels": random.integers(0, 10, 96)}
        plan = partita.plan(EXAMPLES + "mlp.pbtxt", split="auto", devices=2, batch=32)
        self.assertRegex(plan.strategy, r"^# Found by the search ")
        settings = {"epochs": 1, "threads": 1, "cluster": "two_cores"}
        with partita.fit(EXAMPLES + "mlp.pbtxt", data, split=plan, **settings) as session:
            planned = session.read("classifier/matmul/weights").copy()
            loss = session.epochs[0].loss
        with partita.fit(EXAMPLES + "mlp.pbtxt", data, split="auto", devices=2, batch=32, **settings) as session:
            numpy.testing.assert_array_equal(planned, session.read("classifier/matmul/weights"))
            self.assertEqual(session.epochs[0].loss, loss)
        with self.assertRaisesRegex(partita.InvalidArgument, "devices is 2"):
            partita.fit(EXAMPLES + "mlp.pbtxt", data, split=plan, devices=2)
        with self.assertRaisesRegex(partita.InvalidArgument, "ranks is 3, but the plan's split has 2 ranks"):
            partita.fit(EXAMPLES + "mlp.pbtxt", data, split=plan, ranks=3)

    def test_training_takes_what_changes_a_step_from_the_plan(self):
        fields = partita.Model(EXAMPLES + "mlp.pbtxt").fields
        data = {name: numpy.arange(128 * int(numpy.prod(field.shape[1:]))).reshape(128, *field.shape[1:]) % 7
                for name, field in fields.items()}
        data = {name: array.astype(fields[name].dtype) for name, array in data.items()}

        def loss(**settings):
            with partita.fit(EXAMPLES + "mlp.pbtxt", data, epochs=1, batch=32, **settings) as session:
                return session.epochs[0].loss

        plain = loss(split={"dp": 2})
        for settings in ({"precision": "bf16"}, {"learning_rate": 0.01}):
            plan = partita.plan(EXAMPLES + "mlp.pbtxt", split={"dp": 2}, **settings)
            direct = loss(split={"dp": 2}, **settings)
            self.assertNotEqual(direct, plain)
            self.assertEqual(loss(split=plan), direct)
        self.assertEqual(loss(split=plan, learning_rate=0.02), loss(split={"dp": 2}, learning_rate=0.02))

    def test_refuses_as_the_trainer_does(self):
        def refused(kind, flags, **settings):
            with self.assertRaises(kind) as raised:
                partita.plan(EXAMPLES + "mlp.pbtxt", **settings)
            if flags is None:
                return str(raised.exception)
            done = trainer(*flags, EXAMPLES + "mlp.pbtxt")
            self.assertNotEqual(done.returncode, 0)
            said = done.stderr.removeprefix("trainer: ").strip()
            said = re.sub(r"(?<= )--", "", said.replace("flag --", "setting "))
            self.assertEqual(str(raised.exception), said)
            return said

        refused(partita.DoesNotFit, ["--memory=1KiB"], memory="1KiB")
        refused(partita.DoesNotFit, ["--memory=1KiB", "--cluster=two_cores", "--repair"], memory="1KiB",
                cluster="two_cores", repair=True)
        refused(partita.InvalidArgument, ["--dp=65"], devices=65)
        refused(partita.InvalidArgument, ["--dp=9", "--cluster=dgx1_v100"], devices=9, cluster="dgx1_v100")
        refused(partita.InvalidArgument, ["--cluster=three_cores"], cluster="three_cores")
        refused(partita.InvalidArgument, ["--objective=memory"], objective="memory")
        self.assertIn("no setting 'epoch'", refused(ValueError, None, epoch=3))
        self.assertIn("no setting 'page'", refused(ValueError, None, page="page.html"))
        self.assertIn("no setting 'full'", refused(ValueError, None, full=True))
        self.assertRegex(refused(partita.InvalidArgument, None, split="auto", devices=4), "cluster.*profile")
        self.assertIn("devices is 4", refused(partita.InvalidArgument, None, split={"dp": 4}, devices=4))
        plan = partita.plan(EXAMPLES + "mlp.pbtxt")
        with self.assertRaisesRegex(partita.InvalidArgument, "^a page needs cluster or profile"):
            print(plan.page)
        with self.assertRaisesRegex(partita.InvalidArgument, "none.pbtxt"):
            partita.plan("none.pbtxt")
        with self.assertRaisesRegex(TypeError, "cannot be copied"):
            __import__("copy").copy(plan._handle)


if __name__ == "__main__":
    unittest.main()
