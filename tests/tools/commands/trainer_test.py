"""Runs the real trainer as its users do: exit codes, files, signals."""

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

TRAINER = os.path.abspath("tools/trainer")
EXAMPLES = os.path.abspath("tools/models/examples")
MLP = os.path.join(EXAMPLES, "mlp.pbtxt")
LENET = os.path.join(EXAMPLES, "lenet5.pbtxt")


def example(name):
    return os.path.join(EXAMPLES, name)


class TrainerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments, code=0):
        done = subprocess.run([TRAINER, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=300)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def train(self, *arguments, code=0):
        return self.call("train", "--mock-data", "--batch=8", "--steps=4", "--threads=1", *arguments, code=code)

    def changed(self, graph, pattern, replacement):
        """A graph's file with something else in place of what the pattern finds."""
        with open(graph) as file:
            text = file.read()
        changed = re.sub(pattern, replacement, text)
        self.assertNotEqual(changed, text)
        with open(self.path("changed.pbtxt"), "w") as file:
            file.write(changed)
        return "changed.pbtxt"

    def refused(self, code, says, *arguments):
        """A refusal is one sentence on standard error, and nothing is written."""
        done = self.call(*arguments, code=code)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(os.listdir(self.folder), [])


class RefusalTest(TrainerTest):

    def test_wrong_flags(self):
        outputs = ["--save=s.safetensors", "--report=r.json", "--trace=t.json"]
        for says, flags in [
            ("did you mean '--epochs'", ["--epoch=3"]),
            ("'many'", ["--epochs=many"]),
            ("must be equal", ["--dp=2", "--mp=2", "--ranks=3"]),
            ("--dp", ["--strategy=" + example("mlp_mixed.pbtxt"), "--dp=2"]),
            ("--mock-data", ["--data=/nowhere", "--mock-data"]),
            ("dot", ["--format=dot"]),
        ]:
            with self.subTest(flags=flags):
                self.refused(2, says, "train", *flags, *outputs, MLP)
        self.refused(2, "GRAPH", "train", *outputs)
        self.refused(2, "--load", "evaluate", "--mock-data", MLP)

    def test_wrong_output_paths(self):
        for says, flag in [
            ("there is no folder", "--save=missing/s.safetensors"),
            ("is a folder", "--trace=" + EXAMPLES),
            (".json", "--report=report.txt"),
        ]:
            with self.subTest(flag=flag):
                self.refused(2, says, "train", "--mock-data", "--steps=1", flag, MLP)
        self.refused(2, "same file", "train", "--mock-data", "--report=a.json", "--trace=./a.json", MLP)

    def test_outputs_that_are_inputs(self):
        shutil.copy(MLP, self.path("graph.pbtxt"))
        shutil.copy(example("mlp_data_model.pbtxt"), self.path("strategy.pbtxt"))
        os.symlink("graph.pbtxt", self.path("link.pbtxt"))
        os.link(self.path("strategy.pbtxt"), self.path("other.json"))
        before = {name: self.contents(name) for name in os.listdir(self.folder)}
        for says, flag in [
            ("graph.pbtxt is the same file as the graph", "--save=graph.pbtxt"),
            ("link.pbtxt is the same file as the graph", "--save=link.pbtxt"),
            ("other.json is the same file as that of --strategy", "--report=other.json"),
        ]:
            with self.subTest(flag=flag):
                done = self.train("--strategy=strategy.pbtxt", flag, "graph.pbtxt", code=2)
                self.assertIn(says, done.stderr)
        self.assertEqual({name: self.contents(name) for name in os.listdir(self.folder)}, before)

    def contents(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_wrong_files(self):
        outputs = ["--save=s.safetensors", "--report=r.json"]
        self.refused(3, "none.pbtxt", "train", *outputs, "none.pbtxt")
        self.refused(3, "mlp_mixed", "train", *outputs, example("mlp_mixed.pbtxt"))
        self.refused(3, "names no node", "train", "--strategy=" + example("lenet5_mixed.pbtxt"), *outputs, MLP)
        self.refused(3, "/nowhere", "train", "--data=/nowhere", *outputs, MLP)
        self.refused(3, "none.safetensors", "train", "--mock-data", "--load=none.safetensors", *outputs, MLP)

    def test_more_samples_in_a_batch_than_in_the_set(self):
        self.refused(3, "60000", "train", "--batch=60001", "--save=s.safetensors", MLP)

    def test_what_does_not_fit(self):
        for command in (["train", "--mock-data", "--report=r.json"], ["plan"]):
            with self.subTest(command=command[0]):
                self.refused(4, "rank 0", *command, "--memory=64KiB", MLP)

    def test_a_gpu_that_is_not_there(self):
        command = [TRAINER, "train", "--device=cuda", "--gpu=1024", "--mock-data", "--report=r.json", MLP]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=300)
        # With GPUs: the number is wrong. Without: no driver, or a build without CUDA.
        self.assertIn(done.returncode, [2, 138], done.stderr)
        self.assertEqual(done.returncode == 2, "there is no device cuda:1024" in done.stderr, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_tf32_on_the_host(self):
        self.refused(2, "--tf32 needs --device=cuda", "train", "--tf32", "--mock-data", MLP)
        self.refused(2, "--tf32", "verify", "--tf32", "--mock-data", MLP)

    def test_a_loss_that_is_not_finite(self):
        done = self.call("train", "--mock-data", "--batch=8", "--steps=200", "--learning-rate=1000000",
                         "--report=r.json", "--save=s.safetensors", LENET, code=5)
        self.assertRegex(done.stderr, r"step \d+: node 'loss'.*first value that is not finite is '.+'")
        with open(self.path("r.json")) as file:
            self.assertEqual(json.load(file)["outcome"], "non_finite")
        self.assertFalse(os.path.exists(self.path("s.safetensors")))


class OutputTest(TrainerTest):

    def test_results_that_cannot_be_written(self):
        self.train("--save=s.safetensors", MLP)
        for command in (["plan"], ["check"], ["show"], ["train", "--mock-data", "--steps=1"],
                        ["evaluate", "--mock-data", "--load=s.safetensors"]):
            with self.subTest(command=command[0]), open("/dev/full", "w") as full:
                done = subprocess.run([TRAINER, *command, "--batch=8", MLP], stdout=full, stderr=subprocess.PIPE,
                                      text=True, cwd=self.folder, timeout=300)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("trainer: standard output cannot be written: No space left on device", done.stderr)

    def test_a_file_beyond_the_limit_of_the_process(self):
        done = subprocess.run(
            [TRAINER, "train", "--mock-data", "--batch=8", "--steps=1", "--save=s.safetensors", MLP],
            capture_output=True, text=True, cwd=self.folder, timeout=300,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("s.safetensors: cannot write: File too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def start_unread(self, *arguments):
        """The trainer, whose standard output is a pipe that is full and that nobody reads."""
        self.reader, writer = os.pipe()
        self.addCleanup(os.close, self.reader)
        os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)))
        process = subprocess.Popen([TRAINER, "train", "--mock-data", "--batch=8", "--threads=1", *arguments, MLP],
                                   stdout=writer, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        os.close(writer)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_training_that_nobody_listens_to_goes_on_and_stops(self):
        process = self.start_unread("--epochs=1000000", "--save=s.safetensors", "--report=r.json")
        time.sleep(5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, error)
        self.assertIn("standard output cannot be written: nobody reads it", error)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["outcome"], "interrupted")
        self.assertGreater(len(report["epochs"]), 1, "it waits for a reader")
        self.assertGreater(os.path.getsize(self.path("s.safetensors")), 0)

    def test_results_wait_for_a_reader_or_a_signal(self):
        for told in (False, True):
            with self.subTest(told=told):
                process = self.start_unread("--steps=2", "--report=r.json")
                while not os.path.exists(self.path("r.json")):  # the last that it does
                    self.assertIsNone(process.poll())
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(1.5)
                if told:
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(60), -signal.SIGTERM)
                else:
                    with open(self.reader, closefd=False, errors="replace") as reader:
                        self.assertIn("outcome         finished", reader.read())
                    self.assertEqual(process.wait(60), 0)
                os.unlink(self.path("r.json"))


class TrainTest(TrainerTest):

    def test_hybrid_reports_what_it_predicted(self):
        self.train("--dp=2", "--mp=2", "--report=r.json", "--trace=t.json", LENET)
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["outcome"], "finished")
        self.assertEqual(report["strategy"], "data:2 model:2")
        self.assertEqual(report["flags"]["dp"], "2")
        self.assertEqual(len(report["devices"]), 4)
        self.assertEqual(sum(int(epoch["steps"]) for epoch in report["epochs"]), 4)
        self.assertIn("test_accuracy", report)
        moved = 0
        for group in report["groups"]:
            self.assertEqual(group["predicted_payload_bytes"], group["counted_payload_bytes"])
            self.assertEqual(group["predicted_wire_bytes"], group["counted_wire_bytes"])
            moved += int(group["counted_wire_bytes"])
        self.assertGreater(moved, 0)
        for rank in report["memory"]:
            self.assertGreater(int(rank["used_bytes"]), 0)
            self.assertLessEqual(int(rank["used_bytes"]), int(rank["planned_bytes"]))
        self.assertEqual([rank["rank"] for rank in report["communication"]], [0, 1, 2, 3])
        for rank in report["communication"]:
            self.assertEqual(rank["steps"], "4")
            self.assertGreater(rank["busy_seconds"], 0)
            self.assertLessEqual(rank["exposed_seconds"], rank["busy_seconds"])
            self.assertLessEqual(rank["gradient_behind_backward_seconds"], rank["gradient_busy_seconds"])
        with open(self.path("t.json")) as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        self.assertEqual({event["pid"] for event in slices}, {0, 1, 2, 3})

    def test_summary_says_what_the_report_says(self):
        text = self.train("--dp=2", MLP).stdout
        for word in ("test accuracy", "throughput", "predicted", "counted", "exposed", "planned", "used"):
            self.assertIn(word, text)
        self.assertEqual(json.loads(self.train("--dp=2", "--format=json", MLP).stdout)["command"], "train")

    def test_parameters_survive_saving_and_any_split(self):
        self.train("--dp=2", "--mp=2", "--save=s.safetensors", "--report=r.json", LENET)
        with open(self.path("r.json")) as file:
            trained = json.load(file)["test_accuracy"]
        for flags in (["--ranks=1"], ["--dp=2", "--mp=2"], ["--dp=3"]):
            with self.subTest(flags=flags):
                done = self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--format=json",
                                 *flags, LENET)
                self.assertAlmostEqual(json.loads(done.stdout)["test_accuracy"], trained, places=6)
        done = self.call("evaluate", "--mock-data", "--load=s.safetensors", MLP, code=3)
        self.assertIn("s.safetensors", done.stderr)

    def test_predictions_are_the_same_under_any_split_and_in_both_formats(self):
        self.train("--save=s.safetensors", LENET)
        rows = {}
        for name, flags in (("serial.csv", []), ("split.csv", ["--dp=3", "--mp=2"]), ("serial.npy", [])):
            done = self.call("predict", "--mock-data", "--batch=8", "--load=s.safetensors", "--output=" + name, *flags,
                             LENET)
            self.assertIn("of 20 samples, f32[20,10]", done.stdout)
        for name in ("serial.csv", "split.csv"):
            with open(self.path(name)) as file:
                header, *lines = file.read().splitlines()
            self.assertEqual(len(header.split(",")), 10)
            rows[name] = [float(number) for line in lines for number in line.split(",")]
        self.assertEqual(len(rows["serial.csv"]), 200)
        for serial, split in zip(rows["serial.csv"], rows["split.csv"]):
            self.assertAlmostEqual(serial, split, places=4)
        with open(self.path("serial.npy"), "rb") as file:
            contents = file.read()
        self.assertEqual(contents[:8], b"\x93NUMPY\x01\x00")
        start = 10 + int.from_bytes(contents[8:10], "little")
        self.assertEqual(start % 64, 0)
        self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (20, 10, )", contents[:start])
        self.assertEqual(list(struct.unpack("<200f", contents[start:])), [
            struct.unpack("<f", struct.pack("<f", number))[0] for number in rows["serial.csv"]])
        self.call("predict", "--mock-data", "--batch=8", "--load=s.safetensors", "--output=probe.csv",
                  "--value=conv1/relu", LENET)

    def test_predictions_that_cannot_be_made(self):
        self.refused(2, "--load", "predict", "--mock-data", "--output=p.npy", LENET)
        self.refused(2, "--output", "predict", "--mock-data", "--load=s.safetensors", LENET)
        self.refused(2, "neither .npy nor .csv", "predict", "--mock-data", "--load=s.safetensors", "--output=p.txt",
                     LENET)
        self.refused(3, "no value 'logit' to predict", "predict", "--mock-data", "--load=s.safetensors",
                     "--output=p.npy", "--value=logit", LENET)
        self.train("--save=s.safetensors", LENET)
        done = self.call("predict", "--mock-data", "--load=s.safetensors", "--output=p.npy", "--value=loss", LENET,
                         code=3)
        self.assertIn("value 'loss' is f32[]; what is predicted has a row for each", done.stderr)
        self.assertFalse(os.path.exists(self.path("p.npy")))

    def test_evaluation_reports_its_loss(self):
        self.train("--save=s.safetensors", "--report=r.json", MLP)
        with open(self.path("r.json")) as file:
            trained = json.load(file)
        self.assertEqual(trained["test_loss"], trained["epochs"][-1]["test_loss"])
        command = ["evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--report=e.json", MLP]
        self.assertIn(f"test loss       {trained['test_loss']:.4f}\n", self.call(*command).stdout)
        with open(self.path("e.json")) as file:
            evaluated = json.load(file)
        self.assertAlmostEqual(evaluated["test_loss"], trained["test_loss"], places=5)
        self.assertEqual(json.loads(self.call(*command, "--format=json").stdout)["test_loss"], evaluated["test_loss"])

    def test_a_graph_without_accuracy_reports_none(self):
        graph = self.changed(MLP, r'nodes \{ name: "accuracy".*\n|metrics: "accuracy"\n', "")
        done = self.train("--save=s.safetensors", "--report=r.json", graph)
        self.assertNotIn("accuracy", done.stdout)
        self.assertIn("test loss", done.stdout)
        done = self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--report=e.json", graph)
        self.assertNotIn("accuracy", done.stdout)
        for name in ("r.json", "e.json"):
            with open(self.path(name)) as file:
                text = file.read()
            self.assertNotIn("accuracy", text)
            self.assertIn("test_loss", text)

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
        self.assertEqual({tensor["dtype"] for name, tensor in header.items() if name != "__metadata__"}, {"F32"})
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
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                self.interrupt(number, code)

    def interrupt(self, number, code):
        report, saved = self.path("r.json"), self.path("s.safetensors")
        process = subprocess.Popen(
            [TRAINER, "train", "--mock-data", "--epochs=1000000", "--dp=2", "--threads=1", "--report=" + report,
             "--save=" + saved, MLP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.assertTrue(process.stdout.readline().startswith("epoch 1"))
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


class PlanTest(TrainerTest):

    STRATEGY = "--strategy=" + example("mini_inception_2x2.pbtxt")
    GRAPH = example("mini_inception.pbtxt")

    def test_is_deterministic(self):
        for form in ("text", "json", "dot"):
            with self.subTest(format=form):
                plans = {self.call("plan", self.STRATEGY, "--format=" + form, self.GRAPH).stdout for _ in range(2)}
                self.assertEqual(len(plans), 1)

    def test_tells_groups_memory_and_layouts(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        self.assertEqual([axis["name"] for axis in plan["mesh"]], ["data", "model"])
        self.assertEqual(len(plan["ranks"]), 4)
        for rank in plan["ranks"]:
            memory = rank["memory"]
            parts = sum(int(memory[part + "_bytes"])
                        for part in ("parameter", "state", "input", "activation", "workspace"))
            self.assertEqual(parts, int(memory["total_bytes"]))
            self.assertGreater(rank["flops"], 0)
        self.assertTrue(all(int(group["operations"]) > 0 for group in plan["groups"]))
        layouts = {node["name"]: node["layout"] for node in plan["nodes"]}
        self.assertEqual(layouts["a2_3x3/conv"], "{data:S0 model:At1}")
        self.assertEqual(layouts["classifier/bias"], "{data:S0 model:S1}")  # of the product, which is joined to it

    def test_tells_what_ghosts_cost(self):
        plan = json.loads(self.call("plan", "--strategy=" + example("mini_inception_domain.pbtxt"), "--format=json",
                                    self.GRAPH).stdout)
        halos = {node["name"]: node for node in plan["nodes"] if node["op"].startswith("halo_exchange")}
        self.assertEqual({tuple(node["axes"]) for node in halos.values()}, {("height",)})
        images = halos["images@halo_exchange"]
        self.assertEqual(images["layout"], "{data:S0 height:S1(28x3/1-1)}")
        # A row of 28 floats goes each way for each of 64 images.
        self.assertEqual(images["wire_bytes"], str(2 * 64 * 28 * 4))
        self.assertEqual(images["ghosts"], {"dimension": 1, "before": ["0", "1"], "behind": ["1", "0"]})
        text = self.call("plan", "--strategy=" + example("mini_inception_domain.pbtxt"), self.GRAPH).stdout
        self.assertRegex(text, r"images@halo_exchange +height +1 +\(0,1\) \(1,0\)")

    def test_tells_meshes_and_what_goes_between_them(self):
        call = ["plan", "--strategy=" + example("lenet5_meshes.pbtxt"), "--batch=8", LENET]
        plan = json.loads(self.call(*call, "--format=json").stdout)
        self.assertEqual([(mesh["name"], mesh["ranks"]) for mesh in plan["further_meshes"]],
                         [("grid", [0, 1, 2, 3]), ("pair", [1, 2])])
        moves = {node["name"]: node for node in plan["nodes"] if node["op"] == "reshard"}
        moved = moves["dense2/relu@reshard"]
        self.assertEqual((moved["meshes"], moved["layout"]), (["grid", "pair"], "{classes:R}"))
        groups = {(tuple(group["meshes"]), tuple(group["ranks"])) for group in plan["groups"] if group["meshes"]}
        self.assertIn((("grid", "pair"), (0, 1, 2, 3)), groups)
        text = self.call(*call).stdout
        self.assertRegex(text, r"mesh pair classes:2 \{1,2\}\n")
        self.assertRegex(text, r"dense2/relu@reshard .*grid~pair +" + moved["wire_bytes"])
        picture = self.call(*call, "--format=dot").stdout
        self.assertIn("reshard over grid~pair", picture)

    def test_text_has_the_numbers_of_json(self):
        text = self.call("plan", self.STRATEGY, self.GRAPH).stdout
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        for group in plan["groups"]:
            self.assertIsNotNone(re.search(rf"\b{group['operations']} +{group['payload_bytes']} +{group['wire_bytes']}$",
                                           text, re.MULTILINE))
        for rank in plan["ranks"]:
            self.assertIn(rank["memory"]["total_bytes"], text)

    def test_bytes_of_moves_are_those_of_groups(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        for size in ("payload_bytes", "wire_bytes"):
            self.assertEqual(sum(int(node[size]) for node in plan["nodes"]),
                             sum(int(group[size]) for group in plan["groups"]))

    def test_picture_has_every_node_edge_and_move(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        picture = self.call("plan", self.STRATEGY, "--format=dot", self.GRAPH).stdout
        drawn = set(re.findall(r'^    "([^"]+)" \[label=', picture, re.MULTILINE))
        self.assertEqual(drawn, {node["name"] for node in plan["nodes"]})
        edges = re.findall(r'^  "([^"]+)" -> "([^"]+)";$', picture, re.MULTILINE)
        self.assertEqual(len(edges), sum(len(node["inputs"]) for node in plan["nodes"]))
        self.assertLessEqual({end for edge in edges for end in edge}, drawn)
        for node in plan["nodes"]:
            if node["axes"]:
                self.assertIn(f"{node['op']} over {'+'.join(node['axes'])}\\n{node['wire_bytes']} wire bytes",
                              picture)


class VerifyTest(TrainerTest):

    def test_equal(self):
        for flags in (["--dp=2", "--mp=2"], ["--strategy=" + example("lenet5_placement.pbtxt")],
                      ["--strategy=" + example("lenet5_domain.pbtxt")], ["--strategy=" + example("lenet5_meshes.pbtxt")],
                      ["--dp=2", "--micro-batches=7"]):
            with self.subTest(flags=flags):
                done = self.call("verify", "--mock-data", "--batch=7", "--precision=f64", "--format=json", *flags, LENET)
                answer = json.loads(done.stdout)
                self.assertTrue(answer["equal"])
                self.assertEqual(len(answer["steps"]), 3)

    def test_noise_is_no_difference(self):
        # Before a batch norm the gradient of a bias is 0, but for rounding.
        def source(name, op, shape, more=""):
            return (f'nodes {{ name: "{name}" op: "{op}" attributes {{ name: "shape" integers {{ values: {shape} }} }} '
                    f'{more} }}')

        def constant(scale):
            return (f'attributes {{ name: "initializer" text: "constant" }} '
                    f'attributes {{ name: "scale" number: {scale} }}')

        random = 'attributes { name: "initializer" text: "he_normal" }'
        with open(self.path("noise.pbtxt"), "w") as file:
            file.write("\n".join([
                'schema_version: 1 name: "noise"',
                source("images", "input", [8, 28, 28, 1]),
                source("labels", "input", [8], 'attributes { name: "dtype" text: "i32" }'),
                source("w", "parameter", [6, 3, 3, 1], random),
                source("b", "parameter", [6], constant(0)),
                source("gamma", "parameter", [6], constant(1)),
                source("beta", "parameter", [6], constant(0)),
                source("mean", "state", [6], constant(0)),
                source("variance", "state", [6], constant(1)),
                source("v", "parameter", [4056, 10], random),
                'nodes { name: "conv" op: "conv2d" inputs: "images" inputs: "w" }',
                'nodes { name: "bias" op: "bias" inputs: "conv" inputs: "b" }',
                'nodes { name: "norm" op: "batch_norm" inputs: "bias" inputs: "gamma" inputs: "beta" inputs: "mean" '
                'inputs: "variance" }',
                'nodes { name: "relu" op: "relu" inputs: "norm" }',
                'nodes { name: "flat" op: "reshape" inputs: "relu" '
                'attributes { name: "shape" integers { values: [-1, 4056] } } }',
                'nodes { name: "logits" op: "matmul" inputs: "flat" inputs: "v" }',
                'nodes { name: "loss" op: "softmax_cross_entropy" inputs: "logits" inputs: "labels" }',
                'loss: "loss" optimizer { momentum: 0.9 } learning_rate { schedule: "constant" base: 0.01 }',
            ]) + "\n")
        for flags in (["--dp=2"], ["--mp=2", "--convolutions=rows"], ["--dp=2", "--mp=2"], ["--dp=4"]):
            for precision in ("f64", "f32"):
                with self.subTest(flags=flags, precision=precision):
                    self.call("verify", "--mock-data", "--precision=" + precision, *flags, "noise.pbtxt")

    def test_equal_in_mixed_precision(self):
        done = self.call("verify", "--mock-data", "--batch=7", "--precision=bf16", "--dp=2", "--mp=2", LENET)
        self.assertIn("step 3: loss", done.stdout)

    def test_names_the_first_difference(self):
        # Sums in another order are not equal to the last bit.
        done = self.call("verify", "--mock-data", "--batch=7", "--dp=2", "--mp=2", "--tolerance=0", LENET, code=6)
        self.assertRegex(done.stderr, r"step 1: .*'.+': differs by")


if __name__ == "__main__":
    unittest.main()
