"""Ranks as processes give what ranks as threads give."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, example, without_launchers
from tools.faults import job


class EqualityTest(TrainerCase):

    def run_both(self, ranks, *arguments, separately=None):
        """Trains with ranks as threads and as processes (`separately`: with other arguments): the same bytes of the
        model, the same report but for votes."""
        reports = []
        for how, launch, given in [("local", [], arguments),
                                   ("processes", ["launch", f"--nproc={ranks}", "--"], separately or arguments)]:
            self.call(*launch, "train", "--mock-data", "--steps=6", "--threads=1", *given,
                      "--save=" + self.path(how + ".safetensors"), "--report=" + self.path(how + ".json"))
            with open(self.path(how + ".json"), encoding="utf-8") as file:
                reports.append(json.load(file))
        with open(self.path("local.safetensors"), "rb") as local, open(self.path("processes.safetensors"), "rb") as separate:
            self.assertEqual(local.read(), separate.read())
        local, separate = reports
        for key in ["training_loss", "test_loss", "test_accuracy"]:
            self.assertEqual([epoch[key] for epoch in local["epochs"]], [epoch[key] for epoch in separate["epochs"]])
        for threads, processes in zip(local["memory"], separate["memory"], strict=True):
            for memory in (threads, processes):
                self.assertLessEqual(memory["used_bytes"], memory["planned_bytes"])
            # Only what goes from process to process is packed.
            self.assertLessEqual(threads["used_bytes"], processes["used_bytes"])
        for report, spread in [(local, []), (separate, ["--processes"])]:
            plan = json.loads(self.call("plan", "--format=json", "--threads=1", *spread, *arguments).stdout)
            self.assertEqual([rank["planned_bytes"] for rank in report["memory"]],
                             [rank["memory"]["total_bytes"] for rank in plan["ranks"]])
        self.assertEqual([rank["rank"] for rank in separate["communication"]], list(range(ranks)))
        self.assertEqual({rank["steps"] for rank in separate["communication"]}, {6})
        self.assertGreater(len(separate["groups"]), 0)
        threads = {group["name"]: group for group in local["groups"]}
        self.assertLessEqual(set(threads), {group["name"] for group in separate["groups"]})
        vote = 8 if "--precision=f64" in arguments else 4
        votes = []
        for group in separate["groups"]:
            for kind in ["payload", "wire"]:
                self.assertEqual(group[f"counted_{kind}_bytes"], group[f"predicted_{kind}_bytes"])
            mine = threads.get(group["name"], {})
            votes.append(group["counted_payload_bytes"] - mine.get("counted_payload_bytes", 0))
        # In every step each rank says once, over whatever axes, whether it wants to stop.
        self.assertLessEqual(set(votes), {0, 6 * vote})
        self.assertGreater(sum(votes), 0)

    def test_data_parallel(self):
        self.run_both(3, "--batch=10", "--dp=3", MLP)

    def test_data_and_model_parallel(self):
        self.run_both(4, "--batch=8", "--dp=2", "--mp=2", MLP)

    def test_addresses_of_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError as why:
            self.skipTest(f"this machine has no IPv6: {why}")
        train = [TRAINER, "train", "--mock-data", "--batch=8", "--steps=3", "--dp=2", "--threads=1"]
        self.execute(*train, "--save=local", MLP)
        for address in ("::1", "[::1]"):
            with job.Job([*train, "--save=" + self.path("spread"), MLP], 2, without_launchers(),
                         lambda rank, address=address: {"MASTER_ADDR": address}) as ranks:
                ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
                for rank in range(2):
                    self.assertEqual(ranks.processes[rank].returncode, 0, ranks.said(rank))
            with open(self.path("local"), "rb") as local, open(self.path("spread"), "rb") as spread:
                self.assertEqual(local.read(), spread.read())

    def test_timed_convolutions(self):
        """Processes take what rank 0 has timed, and a later run what was kept; --deterministic wants none of it."""
        graph = example("lenet5.pbtxt")
        plans = self.path("plans")
        saved = []
        for name, launch in [("processes", ["launch", "--nproc=2", "--"]), ("threads", [])]:
            says = self.call(*launch, "train", "--mock-data", "--steps=3", "--threads=1", "--batch=8", "--dp=2",
                             "--deterministic=false", "--plan-cache=" + plans, "--log=debug",
                             "--save=" + self.path(name), graph).stderr
            self.assertEqual(launch != [], "convolutions are timed" in says, says)
            with open(self.path(name), "rb") as file:
                saved.append(file.read())
            kept = sorted(os.listdir(plans))
            self.assertGreater(len(kept), 0)
        self.assertEqual(saved[0], saved[1])
        self.call("train", "--mock-data", "--steps=1", "--threads=1", "--batch=16", "--deterministic",
                  "--plan-cache=" + plans, graph)
        self.assertEqual(sorted(os.listdir(plans)), kept)

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

    def test_what_a_search_finds(self):
        """Each process searches for itself, and finds the same."""
        for ranks, graph in ((2, "lenet5"), (4, "lenet5"), (4, "mlp"), (2, "mini_inception")):
            with self.subTest(graph=graph, ranks=ranks):
                common = ["--batch=8", "--cluster=two_cores", example(graph + ".pbtxt")]
                search = ["--search=auto", f"--ranks={ranks}", *common]
                self.call("plan", "--processes", "--threads=1", "--save-strategy=found.pbtxt", *search)
                self.run_both(ranks, "--strategy=found.pbtxt", *common, separately=search)

    def test_evaluation_loads_in_every_process(self):
        model = self.path("model.safetensors")
        self.call("train", "--mock-data", "--batch=8", "--steps=3", "--save=" + model, MLP)
        alone = self.call("evaluate", "--mock-data", "--batch=8", "--dp=2", "--load=" + model, MLP)
        launched = self.call("launch", "--nproc=2", "--", "evaluate", "--mock-data", "--batch=8", "--dp=2",
                             "--load=" + model, MLP)
        loss = re.compile(r"test loss.*")
        self.assertEqual(loss.search(alone.stdout).group(), loss.search(launched.stdout).group())
        self.assertEqual(len(loss.findall(launched.stdout)), 1)

    def test_training_goes_on_in_processes(self):
        """Dropout, batch norm and momentum on worker groups: saved by threads, gone on with by processes, which save too."""
        with open(example("mini_inception.pbtxt"), encoding="utf-8") as file:
            text = re.sub(r"learning_rate \{.*\n", 'learning_rate { schedule: "constant" base: 0.01 }\n', file.read())
        with open(self.path("graph.pbtxt"), "w", encoding="utf-8") as file:
            file.write(text)
        command = ["train", "--mock-data", "--batch=8", "--threads=1", "--flip",
                   "--strategy=" + example("mini_inception_2x2.pbtxt")]
        processes = ["launch", "--nproc=4", "--", *command, "--save-every=2", "--tls"]
        self.call(*command, "--steps=7", "--save=" + self.path("whole"), "graph.pbtxt")
        self.call(*command, "--steps=3", "--save=" + self.path("half"), "graph.pbtxt")
        done = self.call(*processes, "--steps=5", "--load=half", "--save=" + self.path("more"), "graph.pbtxt")
        self.assertEqual(done.stdout.count("goes on at step 3 (epoch 1, 3 of its 50 steps are done)"), 1)
        self.call(*processes, "--steps=7", "--load=more", "--save=" + self.path("end"), "graph.pbtxt")
        with open(self.path("whole"), "rb") as whole, open(self.path("end"), "rb") as end:
            self.assertEqual(end.read(), whole.read())

    def test_predictions_are_those_of_threads(self):
        model = self.path("model.safetensors")
        self.call("train", "--mock-data", "--batch=8", "--steps=3", "--save=" + model, MLP)
        written = []
        for name, launch in [("local.csv", []), ("processes.csv", ["launch", "--nproc=2", "--"])]:
            done = self.call(*launch, "predict", "--mock-data", "--batch=8", "--dp=2", "--threads=1",
                             "--load=" + model, "--output=" + self.path(name), MLP)
            self.assertEqual(done.stdout.count("of 20 samples, f32[20,10]"), 1)
            with open(self.path(name), encoding="utf-8") as file:
                written.append(file.read())
        self.assertEqual(written[0], written[1])

    def test_mpirun(self):
        if shutil.which("mpirun") is None:
            self.skipTest("Debian's openmpi-bin is not installed; its variables are tested in launcher_test")
        reserved = job.reserve_port()
        self.addCleanup(reserved.close)
        done = self.execute("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", TRAINER, "train",
                            "--mock-data", "--batch=8", "--steps=3", "--dp=2", MLP,
                            environment={**without_launchers(), "MASTER_PORT": job.port_of(reserved)})
        self.assertEqual(done.stdout.count("outcome"), 1)

    def test_replicas_are_compared_and_nothing_else_changes(self):
        """Also that the comparison moves the bytes that were predicted; else the run would end with 1."""
        command = ["train", "--mock-data", "--batch=12", "--steps=20", "--threads=1", "--dp=3"]
        self.call(*command, "--save=plain", MLP)
        for name, launch in (("threads", []), ("processes", ["launch", "--"])):
            self.call(*launch, *command, "--check-replicas=6", "--save=" + self.path(name), MLP)
            with open(self.path("plain"), "rb") as plain, open(self.path(name), "rb") as compared:
                self.assertEqual(compared.read(), plain.read())

    def test_launch_starts_as_many_as_the_command_has_ranks(self):
        for flags, ranks in ((["--dp=3"], 3), (["--ranks=2"], 2), ([], 1), (["--dp", "2", "--mp=1"], 2),
                             (["--strategy=" + example("mlp_data_model.pbtxt")], 4)):
            with self.subTest(flags=flags):
                done = self.call("launch", "--", "train", "--mock-data", "--batch=12", "--steps=1", "--format=json",
                                 *flags, MLP)
                self.assertEqual(len(json.loads(done.stdout)["devices"]), ranks)
        wrong = self.call("launch", "--", "train", "--dpp=2", MLP, code=2)
        self.assertIn("did you mean '--dp'", wrong.stderr)
        self.assertEqual(len(wrong.stderr.splitlines()), 1, "said once, not by each rank")

    def test_launch_writes_a_file_for_each_rank(self):
        done = self.call("launch", "--log-dir=logs/today", "--", "train", "--mock-data", "--batch=8", "--steps=1",
                         "--dp=2", MLP)
        files = {}
        for name in os.listdir(self.path("logs/today")):
            with open(self.path("logs/today/" + name), encoding="utf-8") as file:
                files[name] = file.read()
        self.assertEqual(set(files), {"rank-0.log", "rank-1.log"})
        self.assertEqual(files["rank-0.log"], done.stdout)
        failed = self.call("launch", "--log-dir=logs", "--nproc=2", "--", "train", "--mock-data", "--dp=3", MLP, code=2)
        with open(self.path("logs/rank-1.log"), encoding="utf-8") as file:
            self.assertRegex(failed.stderr, r"\A\[[01]\] " + re.escape(file.read()) + r"\Z")
        train = ["train", "--mock-data", "--batch=8", "--steps=1", "--threads=1", MLP]
        command = [TRAINER, "launch", "--log-dir=full", "--", *train]
        full = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env=without_launchers(),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(full.returncode, 4, full.stderr)
        self.assertIn("rank-0.log: cannot be written: File too large", full.stderr)
        self.assertIn("outcome         finished", full.stdout)
        os.symlink("victim", self.path("rank-0.log"))
        link = self.call("launch", "--log-dir=.", "--", *train, code=3)
        self.assertIn("rank-0.log: is a symbolic link", link.stderr)
        self.assertFalse(os.path.exists(self.path("victim")))
        wrong = self.call("launch", "--log-dir=/dev/null/x", "--", *train, code=2)
        self.assertIn("flag --log-dir", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
