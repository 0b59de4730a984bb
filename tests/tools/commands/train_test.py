"""What `train` does and reports."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, example, without_launchers

# By which batch systems say that a job's time ends soon.
WARNINGS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)


class TrainTest(TrainerCase):

    def test_hybrid_reports_what_it_predicted(self):
        self.train("--dp=2", "--mp=2", "--report=r.json", "--trace=t.json", LENET)
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["outcome"], "finished")
        self.assertEqual(report["strategy"], "data:2 model:2")
        self.assertEqual(report["flags"]["dp"], 2)
        self.assertIs(report["flags"]["mock-data"], True)
        self.assertEqual(len(report["devices"]), 4)
        self.assertEqual(report["graph_hash"], json.loads(self.call("show", "--batch=8", "--format=json",
                                                                    LENET).stdout)["graph_hash"])
        version = json.loads(self.call("version", "--format=json").stdout)
        self.assertEqual((report["host"], report["system"], report["revision"], report["libraries"]),
                         (version["host"]["name"], version["host"]["system"], version["revision"],
                          version["libraries"]))
        self.assertRegex(report["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(sum(epoch["steps"] for epoch in report["epochs"]), 4)
        self.assertIn("test_accuracy", report)
        moved = 0
        for group in report["groups"]:
            self.assertEqual(group["predicted_payload_bytes"], group["counted_payload_bytes"])
            self.assertEqual(group["predicted_wire_bytes"], group["counted_wire_bytes"])
            moved += group["counted_wire_bytes"]
        self.assertGreater(moved, 0)
        for rank in report["memory"]:
            self.assertGreater(rank["used_bytes"], 0)
            self.assertLessEqual(rank["used_bytes"], rank["planned_bytes"])
        self.assertEqual([rank["rank"] for rank in report["communication"]], [0, 1, 2, 3])
        for rank in report["communication"]:
            self.assertEqual(rank["steps"], 4)
            self.assertGreater(rank["busy_seconds"], 0)
            self.assertLessEqual(rank["exposed_seconds"], rank["busy_seconds"])
            self.assertLessEqual(rank["gradient_behind_backward_seconds"], rank["gradient_busy_seconds"])
        with open(self.path("t.json")) as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        self.assertEqual({event["pid"] for event in slices}, {0, 1, 2, 3})

    def test_a_run_is_repeated_from_its_report(self):
        self.train("--dp=2", "--learning-rate=0.25", "--report=r.json", "--save=a.safetensors", MLP)
        self.call("train", "--config=r.json", "--report=again.json", "--save=b.safetensors")
        with open(self.path("r.json")) as first, open(self.path("again.json")) as again:
            reports = json.load(first), json.load(again)
        self.assertEqual(reports[0]["graph"], MLP)
        for field in ("graph", "graph_hash", "strategy", "seed"):
            self.assertEqual(reports[0][field], reports[1][field])
        with open(self.path("a.safetensors"), "rb") as first, open(self.path("b.safetensors"), "rb") as again:
            self.assertEqual(first.read(), again.read())

    def test_a_repeated_run_may_replace_its_report(self):
        self.train("--dp=2", "--report=r.json", MLP)
        self.call("train", "--config=r.json")
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual((report["outcome"], report["flags"]["dp"], report["flags"]["report"]),
                         ("finished", 2, "r.json"))
        self.assertNotIn("config", report["flags"])
        done = self.call("train", "--config=r.json", "--trace=r.json", code=2)
        self.assertIn("flag --trace: r.json is the same file as that of --config", done.stderr)

    def test_a_repeated_run_warns_of_another_graph(self):
        graph = self.changed(MLP, "base: [0-9.]+", "base: 0.125")
        self.train("--learning-rate=0.5", "--report=r.json", graph)
        changed = "the run had another graph"
        self.assertNotIn(changed, self.call("train", "--config=r.json", "--batch=4", "--learning-rate=0.1").stderr)
        self.assertNotIn(changed, self.call("train", "--config=r.json").stderr)
        self.changed(self.path(graph), "momentum: 0.9", "momentum: 0.8")
        done = self.call("launch", "--", "train", "--config=r.json", "--dp=2")
        self.assertEqual(done.stderr.count(changed), 1, done.stderr)
        with open(self.path("odd.json"), "w") as file:
            json.dump({"graph": graph, "graph_hash": "ab", "flags": {"batch": 16777216, "mock-data": True}}, file)
        done = self.call("train", "--config=odd.json", "--batch=4", "--steps=1")
        self.assertIn("odd.json: the run had another graph", done.stderr)
        os.remove(self.path(graph))
        moved = self.call("train", "--config=r.json", code=3).stderr
        self.assertIn("r.json: key 'graph' is 'changed.pbtxt', which is not there", moved)

    def test_a_repeated_run_that_is_done_says_so(self):
        self.train("--checkpoint=c", "--resume=auto", "--report=r.json", MLP)
        done = self.call("train", "--config=r.json")
        self.assertRegex(done.stderr, r"warning c/step-0*4: nothing is left to train: it is at step 4")

    def test_reports_how_threads_wait(self):
        """A thread spins for a short time unless it is told otherwise, or takes a core that others need."""
        unset = {name: value for name, value in without_launchers().items()
                 if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        more = os.cpu_count() + 1
        for rounds, threads, variables in ((10000, 1, {}), (0, more, {}), (0, 1, {"OMP_WAIT_POLICY": "passive"}),
                                           (300, 1, {"GOMP_SPINCOUNT": "300"})):
            with self.subTest(threads=threads, variables=variables):
                self.call("train", "--mock-data", "--batch=8", "--steps=1", f"--threads={threads}", "--report=r.json",
                          MLP, environment={**unset, **variables})
                with open(self.path("r.json")) as file:
                    self.assertEqual(json.load(file)["devices"][0]["spin_rounds"], rounds)

    def test_summary_says_what_the_report_says(self):
        text = self.train("--dp=2", MLP).stdout
        for word in ("test accuracy", "throughput", "data making", "data wait", "predicted", "counted", "exposed", "planned",
                     "used"):
            self.assertIn(word, text)
        self.assertEqual(json.loads(self.train("--dp=2", "--format=json", MLP).stdout)["command"], "train")

    def train_on_terminal(self, **variables):
        """What a terminal shows of standard error."""
        keyboard, terminal = os.openpty()
        self.addCleanup(os.close, keyboard)
        done = subprocess.Popen([TRAINER, "train", "--mock-data", "--batch=512", "--epochs=1", "--threads=1", LENET],
                                stdout=subprocess.PIPE, stderr=terminal, text=True, cwd=self.folder,
                                env={**os.environ, "TERM": "xterm", **variables})
        os.close(terminal)
        out, _ = done.communicate(timeout=300)
        self.assertEqual(done.returncode, 0)
        self.assertIn("outcome         finished", out)
        shown = b""
        try:
            while part := os.read(keyboard, 1 << 16):
                shown += part
        except OSError:  # the other end is closed
            pass
        return shown.decode()

    def test_a_terminal_has_a_progress_bar(self):
        shown = self.train_on_terminal()
        self.assertRegex(shown, r"^\r\x1b\[J\[=*> *\] +\d+ %  step \d+/50  loss ")
        self.assertTrue(shown.endswith("\r\x1b[J"), "it is cleared")
        self.assertNotIn("\n", shown)
        self.assertNotIn("\x1b", self.train_on_terminal(TERM="dumb"))

    def test_steps_alone_take_as_many_epochs_as_they_need(self):
        """An epoch of mock data has 50 steps."""
        train = ("train", "--mock-data", "--batch=8", "--threads=1")
        for flags, steps, epochs, says in (
                (["--steps=120"], 120, 3, None), (["--steps=3"], 3, 1, None), (["--epochs=2"], 100, 2, None),
                (["--epochs=1", "--steps=120"], 50, 1, "training ends after 50 steps: --epochs=1 comes before --steps=120"),
                (["--epochs=4", "--steps=60"], 60, 2, "training ends after 60 steps: --steps=60 comes before --epochs=4")):
            with self.subTest(flags=flags):
                out = self.call(*train, *flags, "--report=r.json", "--save=s", MLP).stdout
                with open(self.path("r.json")) as file:
                    report = json.load(file)
                self.assertEqual(sum(epoch["steps"] for epoch in report["epochs"]), steps)
                self.assertEqual(len(report["epochs"]), epochs)
                self.assertEqual([line for line in out.splitlines() if "comes before" in line], [says] if says else [])
                cut = f"epoch {epochs:<3} ({steps % 50} of 50 steps) loss "
                self.assertEqual(cut in out, steps % 50 > 0, out)
                self.assertEqual(out.count("of 50 steps"), int(steps % 50 > 0))
        onward = self.call(*train, "--steps=70", "--save=s", MLP), self.call(*train, "--steps=130", "--load=s", MLP)
        self.assertIn("goes on at step 70", onward[1].stdout)
        self.assertIn("epoch 3   (30 of 50 steps) loss ", onward[1].stdout)

    def test_a_run_may_end_within_its_warm_up(self):
        graph = self.changed(MLP, r"learning_rate \{.*\}", 'learning_rate { schedule: "cosine" base: 0.1 warmup_steps: 3 }')
        self.call("train", "--mock-data", "--batch=8", "--steps=2", "--report=r.json", graph)
        with open(self.path("r.json")) as file:
            self.assertAlmostEqual(json.load(file)["epochs"][0]["learning_rate"], 0.1 * 2 / 3)
        self.call("check", graph)
        self.call("plan", graph)

    def test_mixed_precision_trains_weights_of_f32(self):
        self.train("--dp=2", "--mp=2", "--precision=bf16", "--save=s.safetensors", "--report=r.json", LENET)
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["flags"]["precision"], "bf16")
        for group in report["groups"]:
            self.assertEqual(group["predicted_wire_bytes"], group["counted_wire_bytes"])
        with open(self.path("s.safetensors"), "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        self.assertEqual({tensor["dtype"] for name, tensor in header.items() if name not in ("__metadata__", "@iteration")},
                         {"F32"})
        for precision, delta in (("bf16", 1e-6), ("f32", 0.05)):
            done = self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--format=json",
                             "--precision=" + precision, LENET)
            self.assertAlmostEqual(json.loads(done.stdout)["test_accuracy"], report["test_accuracy"], delta=delta)

    def test_saved_bytes_depend_on_the_seed_alone(self):
        for name, seed in (("a", 7), ("b", 7), ("c", 8)):
            self.train("--dp=2", f"--seed={seed}", f"--save={name}.safetensors", MLP)
        contents = []
        for name in "abc":
            with open(self.path(name + ".safetensors"), "rb") as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])
        self.assertNotEqual(contents[0], contents[2])

    def test_domain_example_trains_as_one_rank_does(self):
        losses = []
        for flags in (["--ranks=1"], ["--strategy=" + example("lenet5_domain.pbtxt")]):
            self.train("--report=r.json", *flags, LENET)
            with open(self.path("r.json")) as file:
                losses.append(json.load(file)["epochs"][0]["training_loss"])
        self.assertAlmostEqual(losses[0], losses[1], places=4)

    def test_delays_change_nothing(self):
        self.train("--dp=2", "--save=a.safetensors", LENET)
        self.train("--dp=2", "--delay-seed=3", "--save=b.safetensors", LENET)
        with open(self.path("a.safetensors"), "rb") as a, open(self.path("b.safetensors"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_signals_finish_the_step(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGUSR1, 143),
                             (signal.SIGUSR2, 143), (signal.SIGXCPU, 143)):
            with self.subTest(signal=number):
                self.interrupt(number, code)

    def test_warnings_may_come_again_and_again(self):
        """While it trains, evaluates and saves, and until it has ended."""
        for number in WARNINGS:
            with self.subTest(signal=number):
                self.interrupt(number, 143, "--save-every=1", again=True)

    def test_a_warning_before_the_first_step_ends_it_as_sigterm_does(self):
        for number in WARNINGS:
            with self.subTest(signal=number):
                process = self.start(number)
                try:
                    self.wait_until_handled(process, number)
                    process.send_signal(number)
                    process.communicate(timeout=120)
                finally:
                    process.kill()
                    process.wait()
                self.assertIn(process.returncode, (143, -signal.SIGTERM))

    def test_a_warning_waits_for_a_program_that_is_being_loaded(self):
        """Until main it is blocked. On a busy machine this may take long; on an idle one it is seldom missed."""
        codes = []
        for number in 20 * WARNINGS:
            process = self.start(number)
            try:
                if self.wait_until_handled(process, number, "SigBlk"):
                    process.send_signal(number)
                    process.communicate(timeout=120)
                    codes.append(process.returncode)
            finally:
                process.kill()
                process.communicate()
            if len(codes) == 3:
                break
        self.assertEqual(codes, 3 * [-signal.SIGTERM])

    def test_a_warning_that_is_ignored_stays_ignored(self):
        process = subprocess.Popen(
            [TRAINER, "train", "--mock-data", "--epochs=1000000", "--threads=1", MLP], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
        try:
            self.assertTrue(process.stdout.readline().startswith("epoch 1"))
            process.send_signal(signal.SIGUSR1)
            for epoch in (2, 3, 4):
                self.assertTrue(process.stdout.readline().startswith(f"epoch {epoch}"))
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 143)

    def test_a_warning_ends_other_commands_as_sigterm_does(self):
        self.train("--save=s.safetensors", MLP)
        for number in WARNINGS:
            process = subprocess.Popen(
                [TRAINER, "evaluate", "--mock-data", "--batch=1", "--load=" + self.path("s.safetensors"), MLP],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                self.wait_until_handled(process, number)
                process.send_signal(number)
                process.communicate(timeout=120)
            finally:
                process.kill()
                process.wait()
            self.assertIn(process.returncode, (0, 143, -signal.SIGTERM))

    def wait_until_handled(self, process, number, how="SigCgt"):
        """A program that has just been started does not yet know what a signal means. False: it has ended, or was
        found to catch the signal already."""
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status") as file:
                status = file.read()
            for mask in (how, "SigCgt"):
                if int(re.search(mask + r":\s+([0-9a-f]+)", status).group(1), 16) >> (number - 1) & 1:
                    return mask == how
            time.sleep(0.0005)
        return False

    def start(self, number, *flags):
        return subprocess.Popen(
            [TRAINER, "train", "--mock-data", "--epochs=1000000", "--dp=2", "--threads=1", *flags, MLP],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # whoever started this may ignore it

    def interrupt(self, number, code, *flags, again=False):
        report, saved = self.path("r.json"), self.path("s.safetensors")
        process = self.start(number, "--report=" + report, "--save=" + saved, *flags)
        try:
            self.assertTrue(process.stdout.readline().startswith("epoch 1"))
            process.send_signal(number)
            while again and process.poll() is None and not os.path.exists(report):
                process.send_signal(number)
            _, error = process.communicate(timeout=120)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, code, error)
        with open(report) as file:
            self.assertEqual(json.load(file)["outcome"], "interrupted")
        self.assertGreater(os.path.getsize(saved), 0)
        os.unlink(report)
        os.unlink(saved)


if __name__ == "__main__":
    unittest.main()
