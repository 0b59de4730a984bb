"""What `train --metrics` writes while it trains."""

import datetime
import json
import os
import subprocess
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase

PER_EPOCH = 50  # steps of 8 random images


class MetricsTest(TrainerCase):

    def lines(self, name="m.jsonl"):
        with open(self.path(name)) as file:
            return [json.loads(line) for line in file]

    def events(self, event, name="m.jsonl"):
        return [line for line in self.lines(name) if line["event"] == event]

    def run_to(self, steps, *flags, graph=MLP, code=0):
        return self.call("train", "--mock-data", "--batch=8", "--threads=1", "--epochs=10", f"--steps={steps}", *flags,
                         graph, code=code)

    def test_the_lines_are_those_of_the_report(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        self.run_to(2 * PER_EPOCH, "--metrics=m.jsonl", "--metrics-every=20", "--evaluate-every=30", "--report=r.json")
        with open(self.path("r.json")) as file:
            report = json.load(file)
        lines = self.lines()
        self.assertEqual([line["event"] for line in lines],
                         ["run", "step", "evaluation", "step", "evaluation", "epoch", "step", "evaluation", "step",
                          "evaluation", "step", "evaluation", "epoch", "end"])
        run = lines[0]
        self.assertEqual((run["version"], run["model"], run["graph"], run["graph_hash"]),
                         (report["tool_version"], report["model"], MLP, report["graph_hash"]))
        self.assertEqual((run["ranks"], run["batch"], run["steps"], run["first_step"], run["steps_per_epoch"]),
                         (1, 8, 2 * PER_EPOCH, 0, PER_EPOCH))
        self.assertEqual(run["flags"], report["flags"])
        for line in lines:
            time = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
            self.assertLess(abs((time - before).total_seconds()), 300)
        steps = self.events("step")
        self.assertEqual([line["step"] for line in steps], [20, 40, 60, 80, 100])
        self.assertEqual([line["epoch"] for line in steps], [0.4, 0.8, 1.2, 1.6, 2.0])
        epochs = self.events("epoch")
        self.assertEqual([(line["step"], line["epoch"]) for line in epochs], [(50, 1), (100, 2)])
        for line, epoch in zip(epochs, report["epochs"]):
            self.assertEqual(line["loss"], epoch["training_loss"])
            self.assertEqual(line["metrics"], {"accuracy": epoch["training_accuracy"]})
            self.assertEqual(line["learning_rate"], epoch["learning_rate"])
        self.assertAlmostEqual(sum(line["loss"] for line in steps) / 5, sum(line["loss"] for line in epochs) / 2)
        evaluations = self.events("evaluation")
        self.assertEqual([line["step"] for line in evaluations], [30, 50, 60, 90, 100])
        for line, epoch in ((evaluations[1], report["epochs"][0]), (evaluations[-1], report["epochs"][1])):
            self.assertEqual((line["loss"], line["metrics"]["accuracy"]), (epoch["test_loss"], epoch["test_accuracy"]))
        for line in steps:
            self.assertGreater(line["samples_per_second"], 0)
            self.assertEqual(line["memory_bytes"], int(report["memory"][0]["planned_bytes"]))
        self.assertEqual((lines[-1]["step"], lines[-1]["outcome"]), (100, "finished"))
        self.assertNotIn("error", lines[-1])

    def test_the_last_steps_have_a_line(self):
        self.run_to(13, "--metrics=m.jsonl")
        self.assertEqual([line["step"] for line in self.events("step")], [10, 13])

    def test_recording_changes_nothing(self):
        for name, flags in (("a", []), ("b", ["--metrics=m.jsonl", "--metrics-every=1", "--evaluate-every=3"])):
            self.run_to(60, "--save=" + name, *flags)
        with open(self.path("a"), "rb") as a, open(self.path("b"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_the_norm_of_all_gradients_is_that_of_one_rank(self):
        rate = ("--schedule=constant", "--learning-rate=0.001")
        for name, flags in [("plain", []), ("one", ["--gradient-norm"]), ("two", ["--gradient-norm", "--dp=2"]),
                            ("clipped", [*rate, "--optimizer=sgd,clip_norm=1e9"]),
                            ("none", [*rate, "--optimizer=sgd,clip_norm=0"])]:
            self.run_to(20, f"--metrics={name}.jsonl", "--precision=f64", *flags)
        norms = {name: [line.get("gradient_norm") for line in self.events("step", name + ".jsonl")]
                 for name in ("one", "two", "clipped", "none")}
        self.assertEqual(norms["none"], [None, None])
        self.assertEqual(len(norms["one"]), 2)
        for one, two in zip(norms["one"], norms["two"]):
            self.assertGreater(one, 0)
            self.assertAlmostEqual(one / two, 1, places=9)
        self.assertTrue(all(norms["clipped"]))

    def test_a_run_that_resumes_appends_also_behind_half_a_line(self):
        self.run_to(20, "--metrics=m.jsonl", "--checkpoint=c")
        with open(self.path("m.jsonl"), "a") as file:
            file.write('{"event":"step","st')
        self.run_to(40, "--metrics=m.jsonl", "--checkpoint=c", "--resume=auto")
        with open(self.path("m.jsonl")) as file:
            text = file.read()
        self.assertEqual(text.count('{"event":"step","st\n'), 1)
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        self.assertEqual([(line["first_step"], line["steps"]) for line in lines if line["event"] == "run"],
                         [(0, 20), (20, 40)])
        self.assertEqual([line["step"] for line in lines if line["event"] == "step"], [10, 20, 30, 40])

    def test_one_process_of_a_job_writes(self):
        self.call("launch", "--", "train", "--mock-data", "--batch=8", "--steps=20", "--threads=1", "--dp=2",
                  "--metrics=m.jsonl", MLP)
        self.assertEqual([line["event"] for line in self.lines()], ["run", "step", "step", "evaluation", "epoch", "end"])
        self.assertEqual(self.lines()[0]["ranks"], 2)

    def test_skipped_steps_and_errors_are_there(self):
        graph = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 1e30 }')
        done = self.run_to(20, "--metrics=m.jsonl", graph=graph, code=5)
        end = self.lines()[-1]
        self.assertEqual((end["event"], end["outcome"]), ("end", "non_finite"))
        self.assertIn(end["error"], done.stderr)
        os.unlink(self.path("m.jsonl"))
        self.run_to(20, "--metrics=m.jsonl", "--skip-budget=2", graph=graph, code=5)
        skips = self.events("skip")
        self.assertEqual(len(skips), 2)
        self.assertIn("is not finite", skips[0]["reason"])

    def test_a_full_disk_is_said_once_and_training_goes_on(self):
        os.mkfifo(self.path("m.jsonl"))
        reader = os.open(self.path("m.jsonl"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        process = subprocess.Popen([TRAINER, "train", "--mock-data", "--batch=8", "--threads=1", "--steps=2000",
                                    "--epochs=100", "--metrics=m.jsonl", "--metrics-every=1", MLP], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _, error = process.communicate(timeout=300)  # a pipe that nobody reads holds 64 KiB
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(error.count("m.jsonl: cannot write: "), 1)
        self.assertIn("training goes on", error)

    def test_the_log_may_be_json(self):
        done = self.run_to(20, "--log-format=json", "--schedule=constant", "--learning-rate=0.001",
                           "--optimizer=sgd,weight_decay=11", "--log=warning")
        (line,) = done.stderr.splitlines()  # decay outweighs what is learnt
        line = json.loads(line)
        self.assertEqual((line["level"], sorted(line)), ("warning", ["level", "message", "time"]))
        self.assertIn("parameters decay faster than they learn", line["message"])
        self.assertIn("one of text, json is needed", self.run_to(1, "--log-format=xml", code=2).stderr)

    def test_refusals(self):
        train = ["train", "--mock-data", "--batch=8", "--steps=1", MLP]
        for says, *flags in [
                ("m.json has another ending; expected .jsonl", "--metrics=m.json"),
                ("flag --metrics: none/m.jsonl: there is no folder none", "--metrics=none/m.jsonl"),
                ("--metrics-every=5 needs --metrics", "--metrics-every=5"),
                ("--gradient-norm needs --metrics or --tensorboard or --page", "--gradient-norm"),
                ("metrics-every", "--metrics=m.jsonl", "--metrics-every=0"),
                ("--evaluate-every=7 needs --until-accuracy or --until-loss or --metrics", "--evaluate-every=7")]:
            with self.subTest(flags=flags):
                self.refused(2, says, *train, *flags)
        os.mkdir(self.path("d.jsonl"))
        self.assertIn("d.jsonl is a folder", self.call(*train, "--metrics=d.jsonl", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
