"""The page that `train --page` writes while it trains and at its end."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from tests.tools.commands.page.page_reader import Page, contrast, themes
from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase

PER_EPOCH = 50  # steps of 8 random images
TRAIN = ["train", "--mock-data", "--batch=8", "--threads=1", "--epochs=10"]


class RunPageTest(TrainerCase):

    def run_to(self, steps, *flags, graph=MLP, launch=(), code=0):
        return self.call(*launch, *TRAIN, f"--steps={steps}", "--page=p.html", *flags, graph, code=code)

    def page(self):
        return Page(self.path("p.html"))

    def report(self):
        with open(self.path("r.json")) as file:
            return json.load(file)

    def lines(self, event):
        with open(self.path("m.jsonl")) as file:
            return [line for line in map(json.loads, file) if line["event"] == event]

    def test_numbers_are_those_of_metrics_and_report(self):
        done = self.run_to(2 * PER_EPOCH, "--metrics=m.jsonl", "--report=r.json", "--evaluate-every=30", "--dp=2",
                           "--gradient-norm", "--memory=4MiB", "--cluster=two_cores", "--save=s.safetensors", "--checkpoint=c")
        page, report = self.page(), self.report()
        rows = page.table("Training")
        self.assertEqual(len(rows), 10)
        for row, line in zip(rows, self.lines("step")):
            self.assertEqual(row, {"step": str(line["step"]), "epoch": f"{line['epoch']:.6g}",
                                   "loss": f"{line['loss']:.6g}", "accuracy": f"{line['metrics']['accuracy']:.6g}",
                                   "gradient norm": f"{line['gradient_norm']:.6g}",
                                   "learning rate": f"{line['learning_rate']:.6g}",
                                   "samples/s": f"{line['samples_per_second']:.6g}",
                                   "time of a step, ms": f"{1e3 * line['step_seconds']:.6g}"})
        evaluations = self.lines("evaluation")
        self.assertEqual([(row["step"], row["loss"]) for row in page.table("Test set")],
                         [(str(line["step"]), f"{line['loss']:.6g}") for line in evaluations])
        for row, term in zip(page.table("Predicted for two-cores"), report["predictions"]):
            self.assertEqual(row["of a step"], term["term"])
            if term["term"] != "memory":
                self.assertEqual(row["predicted"], f"{1e6 * term['predicted']:.1f} us")
                self.assertEqual(row["measured"], f"{1e6 * term['measured']:.1f} us")
        for row, memory in zip(page.table("Arena of each rank"), report["memory"]):
            self.assertEqual(row, {"rank": str(memory["rank"]), "planned, bytes": str(memory["planned_bytes"]),
                                   "used, bytes": str(memory["used_bytes"]), "limit, bytes": str(4 << 20)})
        (group,) = report["groups"]
        (row,) = page.table("Bytes of a step, by group")
        self.assertEqual(row["on wires counted"], str(int(group["counted_wire_bytes"]) // int(group["steps"])))
        self.assertEqual(row["on wires counted"], row["on wires predicted"])
        flags = {row["flag"]: row["value"] for row in page.table("Flags that had an effect")}
        self.assertEqual(flags, {"--" + name: json.dumps(value).strip('"') for name, value in report["flags"].items()})
        self.assertIn("finished: step 100 of 100 (100.0 %)", page.text)
        for line in done.stdout.splitlines():  # how to go on, as train prints it
            if line.startswith(("saved ", "checkpoints ")):
                self.assertIn(line, page.text)
        # The run is over: nothing to read again. The step is drawn, with axes and its ranks, and the limit of memory.
        self.assertNotIn("http-equiv=\"refresh\"", page.source)
        for text in ("time, us", "rank 0, stream 0", "rank 1, stream 0", "bytes in use, MiB", "step", "learning rate"):
            self.assertIn(text, page.text)
        self.assertIn("dashed: limit", page.text)
        self.assertEqual(page.count("svg", role="img"), page.source.count('role="img" aria-label="'))

    def test_curves_have_both_scales_and_labels(self):
        self.run_to(20)
        page = self.page()
        self.assertEqual(page.count("div", class_="linear"), page.count("div", class_="log"))
        self.assertGreaterEqual(page.count("div", class_="log"), 4)
        self.assertEqual(page.count("a", href="#logarithmic"), 1)
        for element, names in page.elements:
            if element == "svg":
                self.assertTrue(names.get("aria-label") or names.get("aria-hidden") == "true", names)
            if element == "th":
                self.assertIn(names["scope"], ("col", "row"))
        light, dark = themes(page.source)
        for theme in (light, dark):
            for name in ("ink", "dim", "link"):
                self.assertGreaterEqual(contrast(theme[name], theme["paper"]), 4.5, name)
            for name in ("line0", "line1", "line2", "line3", "limit", "backward", "update", "collective"):
                self.assertGreaterEqual(contrast(theme[name], theme["paper"]), 3, name)

    def test_names_are_text(self):
        evil = "a<b>&\"'</title><script>alert(1)<"
        os.mkdir(self.path(evil.replace("/", "%")))
        name = evil.replace("/", "%") + "/<img src=x onerror=y>.pbtxt"
        with open(MLP) as file:
            text = file.read()
        with open(self.path(name), "w") as file:
            file.write(text)
        self.run_to(3, "--save=<b>s.safetensors", graph=name)
        page = self.page()  # which has neither a script nor an image
        self.assertIn(name, page.text)
        self.assertIn("--load=<b>s.safetensors", page.text)

    def test_a_run_that_fails_or_is_stopped_leaves_a_whole_page(self):
        graph = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 1e30 }')
        done = self.run_to(20, "--report=r.json", graph=graph, code=5)
        page = self.page()
        self.assertIn("non_finite: step", page.text)
        self.assertIn("Error: ", page.text)
        self.assertIn(page.text.split("Error: ")[1].splitlines()[0], done.stderr)
        for sign, outcome in ((signal.SIGTERM, "interrupted"), (signal.SIGKILL, "running")):
            with self.subTest(outcome):
                os.unlink(self.path("p.html"))
                process = subprocess.Popen([TRAINER, *TRAIN[:-1], "--epochs=100000", "--page=p.html", MLP],
                                           cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while not os.path.exists(self.path("p.html")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                running = self.page()
                self.assertIn("running: step ", running.text)
                self.assertEqual(running.count("progress"), 1)
                self.assertIn('http-equiv="refresh"', running.source)
                self.assertIn("limit, bytes", running.text)
                process.send_signal(sign)
                process.wait(timeout=300)
                self.assertIn(outcome + ": step ", self.page().text)
                self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("p.html")], ["p.html"])

    def test_a_page_that_cannot_be_written_is_said_once_and_training_continues(self):
        os.mkdir(self.path("d"))
        process = subprocess.Popen([TRAINER, *TRAIN[:-1], "--epochs=100000", "--page=d/p.html", MLP], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(self.path("d/p.html")):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        shutil.rmtree(self.path("d"))
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, error)
        self.assertEqual(error.count("training goes on without its page"), 1)

    def test_a_run_that_resumes_shows_the_curves_before_it(self):
        self.run_to(20, "--metrics=m.jsonl", "--checkpoint=c")
        with open(self.path("m.jsonl"), "a") as file:
            file.write('{"event":"step","step":30,"loss":9}\n')  # a step that is done again
            file.write('{"event":"st')  # a line that a crash cut off
        self.run_to(40, "--metrics=m.jsonl", "--checkpoint=c", "--resume=auto")
        self.assertEqual([row["step"] for row in self.page().table("Training")], ["10", "20", "30", "40"])

    def test_recording_changes_nothing_and_one_process_writes(self):
        self.call(*TRAIN, "--steps=30", "--save=a", "--dp=2", MLP)
        self.run_to(30, "--save=b", "--dp=2", launch=["launch", "--"])
        with open(self.path("a"), "rb") as a, open(self.path("b"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.assertEqual(len(self.page().table("Arena of each rank")), 2)

    def test_a_graph_without_an_accuracy_and_one_rank(self):
        self.run_to(12, graph=self.changed(LENET, r'nodes \{ name: "accuracy".*\n|metrics: "accuracy"\n', ""))
        page = self.page()
        self.assertNotIn("accuracy", page.text)
        self.assertNotIn("Bytes of a step, by group", page.tables)

    def test_bad_paths_are_refused_before_training(self):
        train = [*TRAIN, "--steps=1", MLP]
        self.refused(2, "p.htm has another ending; expected .html", *train, "--page=p.htm")
        self.refused(2, "flag --page: none/p.html: there is no folder none", *train, "--page=none/p.html")
        os.symlink("q.html", self.path("p.html"))
        self.assertIn("symbolic link", self.call(*train, "--page=p.html", code=2).stderr)
        os.unlink(self.path("p.html"))
        os.mkdir(self.path("p.html"))
        self.assertIn("p.html is a folder", self.call(*train, "--page=p.html", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
