"""Ranks as real processes: the same results as threads, and what happens when one of them ends, stops or is wrong."""

import collections
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from tools.faults import job, run

TRAINER = os.path.abspath("tools/trainer")
EXAMPLES = os.path.abspath("tools/models/examples")
MLP = os.path.join(EXAMPLES, "mlp.pbtxt")


def example(name):
    return os.path.join(EXAMPLES, name)


def without_launchers():
    """The environment of this process, in which a launcher of the test may itself run."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_", "SLURM_"))}


def processes_of(command):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if command in file.read().decode(errors="replace"):
                    found.append(int(entry))
        except OSError:
            pass
    return found


class ProcessesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments, code=0, environment=None):
        done = subprocess.run([*arguments], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env=environment or without_launchers())
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done


class EqualityTest(ProcessesTest):

    def run_both(self, ranks, *arguments):
        """Trains with ranks as threads and as processes: the same bytes of the model, the same report."""
        reports = []
        for how, launch in [("local", []), ("gloo", ["launch", f"--nproc={ranks}", "--"])]:
            self.call(TRAINER, *launch, "train", "--mock-data", "--steps=6", "--threads=1", *arguments,
                      "--save=" + self.path(how + ".safetensors"), "--report=" + self.path(how + ".json"))
            with open(self.path(how + ".json"), encoding="utf-8") as file:
                reports.append(json.load(file))
        with open(self.path("local.safetensors"), "rb") as local, open(self.path("gloo.safetensors"), "rb") as gloo:
            self.assertEqual(local.read(), gloo.read())
        local, gloo = reports
        for key in ["training_loss", "test_loss", "test_accuracy"]:
            self.assertEqual([epoch[key] for epoch in local["epochs"]], [epoch[key] for epoch in gloo["epochs"]])
        for threads, processes in zip(local["memory"], gloo["memory"], strict=True):
            for memory in (threads, processes):
                self.assertLessEqual(int(memory["used_bytes"]), int(memory["planned_bytes"]))
            # Only what goes from process to process is packed.
            self.assertLessEqual(int(threads["used_bytes"]), int(processes["used_bytes"]))
        self.assertEqual([rank["rank"] for rank in gloo["communication"]], list(range(ranks)))
        self.assertEqual({rank["steps"] for rank in gloo["communication"]}, {"6"})
        self.assertGreater(len(gloo["groups"]), 0)
        for mine, other in zip(local["groups"], gloo["groups"]):
            for kind in ["payload", "wire"]:
                self.assertEqual(other[f"counted_{kind}_bytes"], other[f"predicted_{kind}_bytes"])
                self.assertEqual(other[f"counted_{kind}_bytes"], mine[f"counted_{kind}_bytes"])

    def test_data_parallel(self):
        self.run_both(3, "--batch=10", "--dp=3", MLP)

    def test_data_and_model_parallel(self):
        self.run_both(4, "--batch=8", "--dp=2", "--mp=2", MLP)

    def test_mixed_layouts_in_f64(self):
        self.run_both(4, "--batch=8", "--precision=f64", "--strategy=" + example("lenet5_mixed.pbtxt"),
                      example("lenet5.pbtxt"))

    def test_mixed_precision(self):
        self.run_both(4, "--batch=8", "--precision=bf16", "--dp=2", "--mp=2", example("lenet5.pbtxt"))

    def test_several_meshes(self):
        self.run_both(4, "--batch=8", "--precision=f64", "--strategy=" + example("lenet5_meshes.pbtxt"),
                      example("lenet5.pbtxt"))

    def test_placement(self):
        self.run_both(4, "--batch=8", "--strategy=" + example("mini_inception_2x2.pbtxt"),
                      example("mini_inception.pbtxt"))

    def test_evaluation_loads_in_every_process(self):
        model = self.path("model.safetensors")
        self.call(TRAINER, "train", "--mock-data", "--batch=8", "--steps=3", "--save=" + model, MLP)
        alone = self.call(TRAINER, "evaluate", "--mock-data", "--batch=8", "--dp=2", "--load=" + model, MLP)
        launched = self.call(TRAINER, "launch", "--nproc=2", "--", "evaluate", "--mock-data", "--batch=8", "--dp=2",
                             "--load=" + model, MLP)
        loss = re.compile(r"test loss.*")
        self.assertEqual(loss.search(alone.stdout).group(), loss.search(launched.stdout).group())
        self.assertEqual(len(loss.findall(launched.stdout)), 1)

    def test_predictions_are_those_of_threads(self):
        model = self.path("model.safetensors")
        self.call(TRAINER, "train", "--mock-data", "--batch=8", "--steps=3", "--save=" + model, MLP)
        written = []
        for name, launch in [("local.csv", []), ("gloo.csv", ["launch", "--nproc=2", "--"])]:
            done = self.call(TRAINER, *launch, "predict", "--mock-data", "--batch=8", "--dp=2", "--threads=1",
                             "--load=" + model, "--output=" + self.path(name), MLP)
            self.assertEqual(done.stdout.count("of 20 samples, f32[20,10]"), 1)
            with open(self.path(name), encoding="utf-8") as file:
                written.append(file.read())
        self.assertEqual(written[0], written[1])

    def test_mpirun(self):
        if shutil.which("mpirun") is None:
            self.skipTest("Debian's openmpi-bin is not installed; its variables are tested in launcher_test")
        done = self.call("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", TRAINER, "train", "--mock-data",
                         "--batch=8", "--steps=3", "--dp=2", MLP,
                         environment={**without_launchers(), "MASTER_PORT": str(job.free_port())})
        self.assertEqual(done.stdout.count("outcome"), 1)


class RefusalTest(ProcessesTest):

    def test_launch(self):
        self.assertIn("behind `--`", self.call(TRAINER, "launch", "--nproc=2", code=2).stderr)
        wrong = self.call(TRAINER, "launch", "--nproc=2", "--", "train", "--mock-data", "--dp=3", MLP, code=2)
        self.assertIn("has started 2 processes, but the strategy has 3 ranks", wrong.stderr)

    def test_launchers_that_do_not_agree(self):
        both = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "PMI_RANK": "1", "PMI_SIZE": "2"}
        wrong = self.call(TRAINER, "train", "--mock-data", "--dp=2", MLP, code=2,
                          environment={**without_launchers(), **both})
        self.assertIn("unset one of them", wrong.stderr)

    def test_ranks_that_do_not_mean_the_same(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--steps=3", "--dp=2", MLP]
        for variable, says in [("TRAINER_SEED", "do not agree on flag --seed: rank 0 has '', rank 1 has '7'"),
                               ("TRAINER_LEARNING_RATE", "do not agree on flag --learning-rate")]:
            with job.Job(command, 2, without_launchers(), lambda rank: {variable: "7"} if rank == 1 else {}) as ranks:
                ranks.wait([0, 1], time.monotonic() + 60)
                for rank in range(2):
                    self.assertEqual(ranks.processes[rank].returncode, 3, ranks.said(rank))
                    self.assertIn(says, ranks.said(rank))

    def test_ranks_that_load_different_files_of_one_name(self):
        for rank in range(2):
            os.mkdir(self.path(str(rank)))
            self.call(TRAINER, "train", "--mock-data", "--batch=8", "--steps=1", f"--seed={rank}",
                      "--save=" + self.path(f"{rank}/m.safetensors"), MLP)
        for command in ("train", "evaluate"):
            with job.Job([TRAINER, command, "--mock-data", "--batch=8", "--dp=2", "--load=m.safetensors", MLP], 2,
                         without_launchers(), host=lambda rank: ["env", "--chdir=" + self.path(str(rank))]) as ranks:
                ranks.wait([0, 1], time.monotonic() + 60)
                for rank in range(2):
                    self.assertEqual(ranks.processes[rank].returncode, 3, ranks.said(rank))
                    self.assertRegex(ranks.said(rank), r'ranks do not agree on what "m.safetensors" holds: '
                                     r"rank 0 has '[0-9a-f]{32}', rank 1 has '[0-9a-f]{32}'")

    def test_a_rank_that_never_comes(self):
        command = [TRAINER, "train", "--mock-data", "--batch=9", "--steps=3", "--dp=3", "--join-timeout=1", MLP]
        place = {"RANK": "0", "WORLD_SIZE": "3", "LOCAL_RANK": "0", "MASTER_PORT": str(job.free_port())}
        alone = self.call(*command, code=138, environment={**without_launchers(), **place})
        self.assertIn("ranks 1, 2 did not come within 1.0 s", alone.stderr)

    def test_strangers_do_no_harm(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--epochs=100000", "--dp=2", MLP]
        with job.Job(command, 2, without_launchers()) as ranks:
            deadline = time.monotonic() + 60
            while "epoch 1" not in ranks.said(0):
                self.assertLess(time.monotonic(), deadline, ranks.said(0))
                time.sleep(0.05)
            place = self.environment_of(ranks.processes[1])
            for says, variables in [("there is a rank 1 already", {}),
                                    ("has another token", {"PARTITA_JOB_TOKEN": "x"})]:
                second = self.call(*command, code=3, environment={**place, **variables})
                self.assertIn(says, second.stderr)
            self.assertEqual([process.poll() for process in ranks.processes], [None, None])
            ranks.signal(1, signal.SIGTERM)  # one is told, both stop after the same step
            ranks.wait([0, 1], time.monotonic() + 60)
            for rank in range(2):
                self.assertEqual(ranks.processes[rank].returncode, 143, ranks.said(rank))

    @staticmethod
    def environment_of(process):
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            entries = file.read().decode().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)


class FaultTest(ProcessesTest):

    def run_faults(self, kind, count, seed):
        outcomes = run.run(run.command_of(TRAINER, MLP, 3), 3, kind, count, seed)
        self.assertEqual([outcome.wrong for outcome in outcomes if outcome.wrong], [])
        return collections.Counter(outcome.phase for outcome in outcomes)

    def test_kills(self):
        phases = self.run_faults("kill", 20, 1)
        self.assertEqual(phases["collective"] + phases["step"], 12)
        self.assertGreaterEqual(phases["shutdown"], 2)
        self.assertEqual(phases.total(), 20)

    def test_each_phase_gets_its_share(self):
        for seed in range(10):
            aims = run.draw_aims(random.Random(seed), 25, 3, 0.5)
            for ten in aims[:10], aims[10:20]:
                self.assertEqual(collections.Counter(aim.phase for aim in ten),
                                 {"rendezvous": 2, "training": 6, "shutdown": 1, "farewell": 1})
            self.assertEqual({aim.victim for aim in aims if aim.phase == "training"}, {0, 1, 2})
            self.assertEqual(len({aim.delay for aim in aims}), 25)

    def test_stops(self):
        self.assertEqual(self.run_faults("stop", 5, 2).total(), 5)

    def test_what_is_not_promised_is_seen(self):
        promise = job.Promise(1.0, 4.0)
        gone = "rank 1 is gone: its connection ended"

        def phase_and_fault(phase, seconds, code, error):
            outcome = job.judge(1, phase, seconds, {0: code, 2: 138}, {0: error, 2: gone}, promise)
            return outcome.phase, outcome.wrong.partition(":")[0]

        self.assertEqual(phase_and_fault("training", 0.5, 138, gone), ("step", ""))
        self.assertEqual(phase_and_fault("training", 0.5, 138, gone + "; in flight: group 0"), ("collective", ""))
        self.assertEqual(phase_and_fault("training", 1.5, 138, gone), ("step", "later than 1.0 s"))
        self.assertEqual(phase_and_fault("shutdown", 0.5, 0, ""), ("shutdown", ""))
        self.assertEqual(phase_and_fault("shutdown", 0.5, 1, gone), ("shutdown", "another exit code"))
        self.assertEqual(phase_and_fault("training", 0.5, 138, "rank 2 is gone"), ("step", "the rank is not named"))
        missing = "ranks 1 did not come within 3.0 s"
        self.assertEqual(phase_and_fault("rendezvous", 3.5, 138, missing), ("joining", ""))
        self.assertEqual(phase_and_fault("rendezvous", 4.5, 138, missing), ("joining", "later than 4.0 s"))

    def test_a_stopped_rank_that_goes_on_was_given_up(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--epochs=1000", "--dp=2", "--timeout=1", MLP]
        code, error = job.stop_and_continue(command, 2, 1, 0.7, timeout=1)
        self.assertEqual(code, 138, error)

    def test_a_short_stop_does_no_harm(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--epochs=10", "--dp=2", MLP]
        with job.Job(command, 2, without_launchers()) as ranks:
            time.sleep(0.3)
            ranks.signal(1, signal.SIGSTOP)
            time.sleep(0.5)
            ranks.signal(1, signal.SIGCONT)
            ranks.wait([0, 1], time.monotonic() + 120)
            self.assertEqual([process.returncode for process in ranks.processes], [0, 0], ranks.said(0))


class SaveTest(ProcessesTest):
    """Rank 0 is held up while it saves, by a pipe that is full, and another rank dies."""

    COMMAND = ["train", "--mock-data", "--batch=8", "--steps=2", "--threads=1", "--dp=2"]

    def setUp(self):
        super().setUp()
        self.call(TRAINER, *self.COMMAND, "--save=" + self.path("whole"), MLP)
        with open(self.path("whole"), "rb") as file:
            self.whole = file.read()
        self.saved = os.path.join(os.path.realpath(self.folder), "saved")
        os.mkfifo(self.saved)
        self.pipe = os.open(self.saved, os.O_RDWR)
        self.addCleanup(os.close, self.pipe)
        self.filler = fcntl.fcntl(self.pipe, fcntl.F_GETPIPE_SZ)
        os.write(self.pipe, bytes(self.filler))

    def saving(self):
        """The process that has the pipe open, once there is one."""
        deadline = time.monotonic() + 60
        while True:
            for process in processes_of(self.saved):
                folder = f"/proc/{process}/fd"
                try:
                    if any(os.readlink(os.path.join(folder, file)) == self.saved for file in os.listdir(folder)):
                        return process
                except OSError:  # a file of it has just gone
                    pass
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def read_saved(self):
        length = self.filler + len(self.whole)
        read = b""
        while len(read) < length:
            read += os.read(self.pipe, length - len(read))
        return read[self.filler:]

    def test_is_finished_when_a_rank_dies(self):
        with job.Job([TRAINER, *self.COMMAND, "--save=" + self.saved, MLP], 2, without_launchers()) as ranks:
            self.assertEqual(self.saving(), ranks.processes[0].pid)
            ranks.signal(1, signal.SIGKILL)
            time.sleep(1.5)
            self.assertIsNone(ranks.processes[0].poll(), ranks.said(0))
            self.assertEqual(self.read_saved(), self.whole)
            ranks.wait([0], time.monotonic() + 10)
            self.assertEqual(ranks.processes[0].returncode, 138)
            self.assertIn("rank 1 is gone", ranks.said(0))

    def test_is_finished_when_a_rank_of_a_launch_dies(self):
        launcher = subprocess.Popen([TRAINER, "launch", "--nproc=2", "--", *self.COMMAND, "--save=" + self.saved, MLP],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                    env=without_launchers())
        self.addCleanup(launcher.stderr.close)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        saving = self.saving()
        for process in set(processes_of(self.saved)) - {saving, launcher.pid}:
            os.kill(process, signal.SIGKILL)
        time.sleep(2)
        self.assertIn(saving, processes_of(self.saved))
        self.assertEqual(self.read_saved(), self.whole)
        _, error = launcher.communicate(timeout=10)
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL, error)


class LaunchTest(ProcessesTest):

    def start(self, *more):
        """A job that would run for long, in a folder of its own by which its processes are found."""
        graph = self.path("graph.pbtxt")
        shutil.copy(MLP, graph)
        launcher = subprocess.Popen([TRAINER, "launch", "--nproc=3", "--", "train", "--mock-data", "--batch=9",
                                     "--epochs=100000", "--dp=3", *more, graph], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=without_launchers())
        self.addCleanup(launcher.stdout.close)
        self.addCleanup(launcher.stderr.close)
        deadline = time.monotonic() + 60
        while len(processes_of(graph)) < 4:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return launcher, graph

    def ranks(self, launcher, graph):
        return [process for process in processes_of(graph) if process != launcher.pid]

    def assert_gone(self, graph, seconds):
        deadline = time.monotonic() + seconds
        while processes_of(graph):
            self.assertLess(time.monotonic(), deadline, "orphans")
            time.sleep(0.01)

    def test_ends_all_when_one_dies(self):
        for delay in [0, 1]:
            launcher, graph = self.start()
            time.sleep(delay)
            os.kill(self.ranks(launcher, graph)[0], signal.SIGKILL)
            _, error = launcher.communicate(timeout=10)
            self.assertEqual(launcher.returncode, 128 + signal.SIGKILL)
            self.assertRegex(error, r"launch: rank \d \(process \d+\) was ended by signal 9")
            self.assert_gone(graph, 1)

    def test_a_signal_reaches_a_rank_that_is_stopped(self):
        launcher, graph = self.start()
        self.assertIn("epoch 1", launcher.stdout.readline())
        os.kill(self.ranks(launcher, graph)[0], signal.SIGSTOP)
        launcher.send_signal(signal.SIGTERM)
        _, error = launcher.communicate(timeout=20)
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM, error)
        self.assert_gone(graph, 1)

    def test_a_second_signal_ends_a_rank_that_stays_stopped(self):
        launcher, graph = self.start()
        self.assertIn("epoch 1", launcher.stdout.readline())
        rank = self.ranks(launcher, graph)[0]
        gone = threading.Event()

        def keep_stopped():
            while not gone.wait(0.001):
                try:
                    os.kill(rank, signal.SIGSTOP)
                except ProcessLookupError:
                    return

        stopper = threading.Thread(target=keep_stopped)
        stopper.start()
        try:
            for _ in range(2):
                launcher.send_signal(signal.SIGINT)
                time.sleep(0.5)
            _, error = launcher.communicate(timeout=8)
        finally:
            gone.set()
            stopper.join()
        self.assertEqual(launcher.returncode, 128 + signal.SIGINT, error)
        self.assert_gone(graph, 1)

    def test_ends_a_rank_that_is_stopped_when_another_dies(self):
        launcher, graph = self.start("--timeout=60")
        self.assertIn("epoch 1", launcher.stdout.readline())
        stopped, killed, _ = self.ranks(launcher, graph)
        os.kill(stopped, signal.SIGSTOP)
        os.kill(killed, signal.SIGKILL)
        launcher.communicate(timeout=3)
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL)
        self.assert_gone(graph, 1)

    def test_leaves_no_orphans_when_it_is_killed(self):
        launcher, graph = self.start()
        launcher.kill()
        self.assert_gone(graph, 2)
        launcher.wait()

    def test_passes_signals_on(self):
        report, model = self.path("report.json"), self.path("model.safetensors")
        launcher, graph = self.start("--report=" + report, "--save=" + model)
        self.assertIn("epoch 1", launcher.stdout.readline())
        launcher.send_signal(signal.SIGTERM)
        _, error = launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM, error)
        with open(report, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["outcome"], "interrupted")
        self.assertTrue(os.path.exists(model))
        self.assert_gone(graph, 1)


if __name__ == "__main__":
    unittest.main()
