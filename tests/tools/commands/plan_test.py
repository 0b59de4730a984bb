"""What `plan` tells, in each of its formats."""

import collections
import json
import os
import re
import subprocess
import tempfile
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, example

CLUSTER = os.path.abspath("partitioner/clusters/dgx1_v100.pbtxt")

# One rank computes what three others need whole.
ONE_TO_THREE = """schema_version: 1
mesh { name: "all" size: 4 }
further_meshes { name: "three" axes { name: "channels" size: 3 } ranks: [1, 2, 3] }
ops { pattern: "dense1/matmul" axes { axis: "all" split: "at" coordinate: 0 } }
ops { pattern: "dense2/matmul" axes { axis: "channels" split: "output_channels" } }
"""


class PlanTest(TrainerCase):

    STRATEGY = "--strategy=" + example("mini_inception_2x2.pbtxt")
    GRAPH = example("mini_inception.pbtxt")

    def test_is_deterministic(self):
        for form in ("text", "json", "dot"):
            for full in ([], ["--full"]):
                with self.subTest(format=form, full=full):
                    plans = {self.call("plan", self.STRATEGY, "--format=" + form, *full, self.GRAPH).stdout
                             for _ in range(2)}
                    self.assertEqual(len(plans), 1)

    def test_summary_fits_a_screen(self):
        for call in ([self.STRATEGY, self.GRAPH], [MLP], ["--dp=8", "--mp=4", LENET],
                     ["--strategy=" + example("lenet5_meshes.pbtxt"), "--batch=8", LENET]):
            with self.subTest(call=call):
                text = self.call("plan", *call).stdout
                self.assertLessEqual(len(text.splitlines()), 24, text)
                self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
                self.assertIn("--full", text)

    def test_summary_has_the_numbers_of_json(self):
        text = self.call("plan", self.STRATEGY, self.GRAPH).stdout
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        phases = collections.Counter(node["phase"] for node in plan["nodes"])
        moves = sum(1 for node in plan["nodes"] if node["axes"] or node["meshes"])
        self.assertIn(f"{len(plan['nodes'])} nodes: {phases['forward']} forward, {phases['backward']} backward, "
                      f"{phases['update']} update; {moves} of them are moves", text)
        for rank in (0, 1):
            self.assertRegex(text, rf"{plan['ranks'][rank]['flops'] / 1e6:.1f} MFLOP \(rank {rank}\)")
            self.assertRegex(text, rf"{plan['ranks'][rank]['launches']} launches \(rank {rank}\)")
        for axis in ("data", "model"):
            groups = [group for group in plan["groups"] if group["axes"] == [axis]]
            operations = sum(group["operations"] for group in groups)
            self.assertRegex(text, rf"\n  {axis} +{len(groups)} +{operations} ")
        largest = max((node for node in plan["nodes"]), key=lambda node: node["wire_bytes"])
        self.assertIn(f"\n  {largest['name']} ", text)

    def test_cluster_says_how_long_a_step_takes(self):
        cluster = "--cluster=" + CLUSTER
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", cluster, self.GRAPH).stdout)
        self.assertEqual(plan["cluster"], "dgx-1-v100")
        times = [rank["time"] for rank in plan["ranks"]]
        self.assertEqual(len(times), 4)
        for time in times:
            self.assertGreater(time["compute_seconds"], 0)
            self.assertGreaterEqual(time["communication_seconds"], time["exposed_seconds"])
            self.assertGreater(time["exposed_seconds"], 0)
            parts = time["compute_seconds"] + time["exposed_seconds"] + time["idle_seconds"]
            self.assertAlmostEqual(parts, time["step_seconds"], 12)
        slowest = max(times, key=lambda time: time["step_seconds"])
        text = self.call("plan", self.STRATEGY, cluster, self.GRAPH).stdout
        self.assertIn(f"dgx-1-v100: a step takes {1e3 * slowest['step_seconds']:.3f} ms", text)
        self.assertIn(f"computing {1e3 * slowest['compute_seconds']:.3f} ms, "
                      f"exposed communication {1e3 * slowest['exposed_seconds']:.3f} ms", text)
        for call in ([self.STRATEGY, self.GRAPH],
                     ["--strategy=" + example("lenet5_meshes.pbtxt"), "--batch=8", LENET]):
            text = self.call("plan", cluster, *call).stdout
            self.assertLessEqual(len(text.splitlines()), 24, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
        self.assertIn("\ntimes of a step on cluster dgx-1-v100",
                      self.call("plan", self.STRATEGY, cluster, "--full", self.GRAPH).stdout)

    # One number stands for what every launch costs. A small graph's time is made of it, and says so.
    def test_says_where_launches_are_most_of_the_time(self):
        call = ["plan", "--cluster=hgx_h100", "--ranks=1", "--batch=1", MLP]
        (time,) = [rank["time"] for rank in json.loads(self.call(*call, "--format=json").stdout)["ranks"]]
        share = time["launch_seconds"] / time["compute_seconds"]
        self.assertGreater(share, 0.5)
        self.assertLessEqual(share, 1)
        self.assertIn(f" ms, rank 0 longest; launches are {100 * share:.0f} % of computing\n",
                      self.call(*call).stdout)
        self.assertNotIn("launches are", self.call("plan", "--cluster=two_cores", self.GRAPH).stdout)

    def test_predicted_timeline_has_every_launch(self):
        trace = os.path.join(self.folder, "predicted.json")
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", "--cluster=" + CLUSTER, "--trace=" + trace,
                                    self.GRAPH).stdout)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        for rank in {event["pid"] for event in slices}:
            of_rank = [event for event in slices if event["pid"] == rank]
            self.assertEqual(sorted(event["name"] for event in of_rank),
                             sorted(node["name"] for node in plan["ranks"][rank]["nodes"]))
            self.assertLessEqual(max(event["ts"] + event["dur"] for event in of_rank),
                                 1e6 * plan["ranks"][rank]["time"]["step_seconds"] + 0.002)
        os.remove(trace)
        self.refused(2, "--trace needs --cluster or --profile", "plan", "--trace=" + trace, MLP)
        self.refused(3, "has 8 devices and the strategy 9 ranks", "plan", "--dp=9", "--batch=9", "--trace=" + trace,
                     "--cluster=" + CLUSTER, MLP)

    def test_a_shipped_cluster_has_a_name(self):
        by_path, by_name = (self.call("plan", self.STRATEGY, "--cluster=" + cluster, self.GRAPH).stdout
                            for cluster in (CLUSTER, "dgx1_v100"))
        self.assertEqual(by_name, by_path)
        self.refused(2, "flag --cluster: 'dgx1_v10' is no file (.pbtxt, .pb) and no shipped cluster; did you mean "
                     "'dgx1_v100'?", "plan", "--cluster=dgx1_v10", self.GRAPH)
        self.refused(3, "has 8 devices and the strategy 9 ranks", "check", "--dp=9", "--batch=9",
                     "--cluster=dgx1_v100", MLP)

    def plans_by_latency(self, *arguments):
        """The plans on two cores whose messages take no time, and a tenth of a second."""
        with open(os.path.join(os.path.dirname(CLUSTER), "two_cores.pbtxt")) as file:
            text = file.read()
        plans = []
        for latency in ("1e-9", "1e-1"):
            with tempfile.NamedTemporaryFile("w", suffix=".pbtxt") as file:
                file.write(re.sub("latency_seconds: [^ ]*", f"latency_seconds: {latency}", text))
                file.flush()
                plans.append(json.loads(self.call("plan", "--cluster=" + file.name, "--format=json", *arguments).stdout))
        return plans

    # Messages that take long make few buckets, those that take no time many.
    def test_the_compiler_chooses_buckets_for_the_cluster(self):
        quick, slow = (sum(group["operations"] for group in plan["groups"])
                       for plan in self.plans_by_latency("--dp=2", self.GRAPH))
        self.assertLess(slow, quick)

    # What three ranks are to have goes from each to the next in chunks, but where messages take long at once to all.
    def test_the_compiler_chooses_exchanges_for_the_cluster(self):
        with tempfile.NamedTemporaryFile("w", suffix=".pbtxt") as file:
            file.write(ONE_TO_THREE)
            file.flush()
            modes = [{node["name"]: node["mode"] for node in plan["nodes"]}["dense1/relu@reshard"]
                     for plan in self.plans_by_latency("--strategy=" + file.name, "--batch=64", MLP)]
        self.assertEqual(modes, ["chain", ""])

    def test_what_a_cluster_has_no_room_for_is_refused(self):
        self.refused(3, "has 8 devices and the strategy 9 ranks", "plan", "--dp=9", "--batch=9",
                     "--cluster=" + CLUSTER, MLP)
        with open(CLUSTER) as file:
            small = re.sub("memory_bytes: .*", "memory_bytes: 1000", file.read())
        with tempfile.NamedTemporaryFile("w", suffix=".pbtxt") as file:
            file.write(small)
            file.flush()
            done = self.call("plan", "--cluster=" + file.name, MLP, code=4)
            self.assertIn("bytes, and a 'v100' has 1000", done.stderr)
            self.assertRegex(done.stdout, "^  repair ")

    def test_a_plan_that_fits_says_so(self):
        on = {cluster: self.call("plan", self.STRATEGY, "--cluster=" + cluster, self.GRAPH).stdout
              for cluster in ("dgx1_v100", "two_cores")}
        self.assertRegex(on["dgx1_v100"], r"\nmemory .*; v100 has 32GiB: it fits\n")
        self.assertRegex(on["two_cores"], r"\nmemory .*; cores has 24GiB for 4 ranks: it fits\n")
        self.assertNotIn("it fits", self.call("plan", self.STRATEGY, self.GRAPH).stdout)
        plan = json.loads(self.call("plan", self.STRATEGY, "--cluster=two_cores", "--format=json", self.GRAPH).stdout)
        self.assertEqual([rank["room"]["used_bytes"] for rank in plan["ranks"]],
                         4 * [sum(rank["memory"]["total_bytes"] for rank in plan["ranks"])])

    def test_long_form_explains_layouts(self):
        self.assertIn("S1: dimension 1", self.call("plan", "--full", self.STRATEGY, self.GRAPH).stdout)

    def test_tells_groups_memory_and_layouts(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        self.assertEqual([axis["name"] for axis in plan["mesh"]], ["data", "model"])
        self.assertEqual(len(plan["ranks"]), 4)
        for rank in plan["ranks"]:
            memory = rank["memory"]
            parts = sum(memory[part + "_bytes"]
                        for part in ("parameter", "state", "input", "activation", "workspace"))
            self.assertEqual(parts, memory["total_bytes"])
            self.assertGreater(rank["flops"], 0)
        self.assertTrue(all(group["operations"] > 0 for group in plan["groups"]))
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
        self.assertEqual(images["wire_bytes"], 2 * 64 * 28 * 4)
        self.assertEqual(images["ghosts"], {"dimension": 1, "before": [0, 1], "behind": [1, 0]})
        text = self.call("plan", "--full", "--strategy=" + example("mini_inception_domain.pbtxt"), self.GRAPH).stdout
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
        text = self.call(*call, "--full").stdout
        self.assertRegex(text, r"mesh pair classes:2 \{1,2\}\n")
        self.assertRegex(text, rf"dense2/relu@reshard .*grid~pair +{moved['wire_bytes']}")
        picture = self.call(*call, "--full", "--format=dot").stdout
        self.assertIn("reshard over grid~pair", picture)

    def test_says_what_ranks_run_on(self):
        call = ["plan", self.STRATEGY, "--threads=3", self.GRAPH]
        for flags, processes, words in [([], False, "ranks are threads of one process"),
                                        (["--processes"], True, "ranks are processes")]:
            plan = json.loads(self.call(*call, *flags, "--format=json").stdout)
            self.assertEqual(plan["backend"], {"device": "host", "processes": processes, "threads_per_rank": 3,
                                               "missing": ""})
            for full in ([], ["--full"]):
                self.assertIn(f"for the host: {words}, 3 threads for the kernels of each\n",
                              self.call(*call, *flags, *full).stdout)

    # A cluster gives the times; the kernels that are launched, and their memory, are those of the device of the plan.
    def test_says_whose_kernels_and_whose_times(self):
        told = self.call("plan", self.STRATEGY, "--threads=3", "--cluster=dgx1_v100", self.GRAPH).stdout
        self.assertIn("\nmade       for dgx-1-v100 with the host's kernels: ranks are threads of one process, 3 threads "
                      "each\n", told)

    def test_describes_the_run_on_a_gpu(self):
        call = [TRAINER, "plan", "--device=cuda", "--deterministic", self.STRATEGY, self.GRAPH]
        done = subprocess.run([*call, "--format=json"], capture_output=True, text=True, cwd=self.folder, timeout=300)
        if done.returncode == 7:
            self.assertIn("built without CUDA", done.stderr)
            self.assertEqual(done.stdout, "")
            self.skipTest("built without CUDA")
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        missing = plan["backend"]["missing"]
        self.assertNotEqual(plan["backend"]["device"], "host")
        for rank in plan["ranks"]:
            for node in rank["nodes"]:
                family = node["kernel"].split("_")[0]
                self.assertIn(family, ["", "cudnn", "cublaslt", "own", "reference"])
                if family == "reference":
                    self.assertNotEqual(node["remark"], "", node["name"])
                if family == "cublaslt":
                    self.assertEqual(node["remark"], "workspace estimated" if missing else "")
        text = self.call(*call[1:], "--full").stdout
        self.assertIn(f"for {plan['backend']['device']}: ranks are threads of one process; " +
                      (f"by its description, there is none here: {missing}" if missing else "asked for its kernels"),
                      text)

    # The concats of branches, and the slices of their gradients, are columns of one tensor.
    def test_columns_are_no_launches(self):
        for device in ["host", "cuda"]:
            done = subprocess.run([TRAINER, "plan", "--format=json", self.GRAPH, f"--device={device}"],
                                  capture_output=True, text=True, cwd=self.folder, timeout=300)
            if done.returncode == 7 and device == "cuda":
                self.assertIn("built without CUDA", done.stderr)
                self.skipTest("of cuda: built without CUDA")
            self.assertEqual(done.returncode, 0, done.stderr)
            nodes = json.loads(done.stdout)["ranks"][0]["nodes"]
            self.assertIn("a_pool", [node["name"] for node in nodes])
            if all(re.match("(reference_.*)?$", node["kernel"]) for node in nodes):  # as the thread sanitizer's build has
                continue
            copies = [node["name"] for node in nodes if re.search("_(slice|concat)$", node["kernel"])]
            self.assertEqual(copies, [], device)

    # Kernels of one rank's step: a convolution has three, but that the four of 1 x 1 of a block have one for what they
    # give to its input; a batch norm four, the running statistics of all of them one, the optimizer one, the step's
    # scalars one. In bf16 the images and the gradient of the logits are cast.
    def test_counts_the_launches_of_mini_inception_on_a_gpu(self):
        for precision, casts, launches in [("f32", 0, 127), ("bf16", 2, 129)]:
            call = [TRAINER, "plan", "--device=cuda", "--deterministic", f"--precision={precision}", "--format=json",
                    example("mini_inception.pbtxt")]
            done = subprocess.run(call, capture_output=True, text=True, cwd=self.folder, timeout=300)
            if done.returncode == 7:
                self.assertIn("built without CUDA", done.stderr)
                self.skipTest("built without CUDA")
            self.assertEqual(done.returncode, 0, done.stderr)
            kernels = collections.Counter(node["kernel"] for node in json.loads(done.stdout)["ranks"][0]["nodes"])
            counts = {kind: sum(count for kernel, count in kernels.items() if kernel.partition("_")[2].startswith(kind))
                      for kind in ["conv2d", "batch_norm", "batch_norm_running", "sgd", "cast", "all_finite",
                                   "learning_rate", "increment", "constant", "pixels"]}
            self.assertEqual(counts, {"conv2d": 38, "batch_norm": 47, "batch_norm_running": 1, "sgd": 1, "cast": casts,
                                      "all_finite": 1, "learning_rate": 0, "increment": 0, "constant": 0,
                                      "pixels": 1}, precision)
            self.assertLessEqual(sum(kernels.values()), launches + 1, precision)  # pictures come as bytes

    # Nodes are one launch each, but for sums of gradients. The least time of a node is the larger of two, that of the
    # step their sum.
    def test_tells_launches_and_least_times_on_a_gpu(self):
        for precision, flags in [("f32", []), ("f32", ["--tf32"]), ("bf16", [])]:
            call = [TRAINER, "plan", "--device=cuda", "--deterministic", f"--precision={precision}", *flags, self.GRAPH]
            done = subprocess.run([*call, "--format=json"], capture_output=True, text=True, cwd=self.folder,
                                  timeout=300)
            if done.returncode == 7:
                self.assertIn("built without CUDA", done.stderr)
                self.skipTest("built without CUDA")
            self.assertEqual(done.returncode, 0, done.stderr)
            plan = json.loads(done.stdout)
            rank = plan["ranks"][0]
            families = {node["kernel"].split("_")[0] for node in rank["nodes"]}
            if not families >= {"cudnn", "cublaslt"} or plan["backend"]["device"] != "NVIDIA H200":
                self.skipTest(f"a library is missing, or this GPU's limits: {families}, {plan['backend']['device']}")
            several = {node["kernel"]: node["launches"] for node in rank["nodes"] if node["launches"] != 1}
            self.assertEqual(several, {"cudnn_conv2d_input_grad_sum": 5})  # four, and what adds them
            self.assertEqual(rank["launches"], sum(node["launches"] for node in rank["nodes"]))
            least = 0
            for node in rank["nodes"]:
                compute, memory = (node["roofline"][by + "_seconds"] for by in ("compute", "memory"))
                self.assertEqual(node["roofline"]["bound"], "compute" if compute > memory else "memory", node["name"])
                least += max(compute, memory)
            self.assertAlmostEqual(rank["roofline_seconds"], least)
            engines = {node["engine"] for node in rank["nodes"] if node["kernel"].startswith("cudnn")}
            self.assertTrue(all(engine.startswith("engine ") for engine in engines), engines)
            self.assertEqual(any("TENSOR_CORE" in engine for engine in engines), bool(flags) or precision == "bf16")
            text = subprocess.run([*call, "--full"], capture_output=True, text=True, cwd=self.folder, timeout=300).stdout
            self.assertIn(f"least time of rank 0: {least * 1e6:.1f} us in {len(rank['nodes'])} nodes of "
                          f"{rank['launches']} launches\n", text)

    # There nothing is known of limits and engines, and a launch is a kernel or a copied box.
    def test_tells_launches_on_the_host(self):
        for rank in json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)["ranks"]:
            self.assertEqual(rank["launches"], sum(node["launches"] for node in rank["nodes"]))
            self.assertEqual({node["launches"] for node in rank["nodes"] if node["kernel"]}, {1})
            self.assertFalse(any("roofline" in node or node["engine"] for node in rank["nodes"]))
        self.assertNotIn("least time", self.call("plan", "--full", self.STRATEGY, self.GRAPH).stdout)

    def test_processes_pack_what_they_exchange(self):
        call = ["plan", "--strategy=" + example("mini_inception_domain.pbtxt"), "--format=json", self.GRAPH]
        threads, processes = (json.loads(self.call(*call, *flags).stdout)["ranks"] for flags in ([], ["--processes"]))
        for one, other in zip(threads, processes, strict=True):
            self.assertLess(len(one["nodes"]), len(other["nodes"]))
            self.assertEqual(one["flops"], other["flops"])

    def test_text_has_the_numbers_of_json(self):
        text = self.call("plan", "--full", self.STRATEGY, self.GRAPH).stdout
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        for group in plan["groups"]:
            self.assertIsNotNone(re.search(rf"\b{group['operations']} +{group['payload_bytes']} +{group['wire_bytes']}$",
                                           text, re.MULTILINE))
        for rank in plan["ranks"]:
            self.assertIn(str(rank["memory"]["total_bytes"]), text)

    def test_bytes_of_moves_are_those_of_groups(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        for size in ("payload_bytes", "wire_bytes"):
            self.assertEqual(sum(node[size] for node in plan["nodes"]),
                             sum(group[size] for group in plan["groups"]))

    def test_picture_has_every_node_edge_and_move(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        picture = self.call("plan", "--full", self.STRATEGY, "--format=dot", self.GRAPH).stdout
        drawn = set(re.findall(r'^    "([^"]+)" \[label=', picture, re.MULTILINE))
        self.assertEqual(drawn, {node["name"] for node in plan["nodes"]})
        edges = re.findall(r'^  "([^"]+)" -> "([^"]+)";$', picture, re.MULTILINE)
        self.assertEqual(len(edges), sum(len(node["inputs"]) for node in plan["nodes"]))
        self.assertLessEqual({end for edge in edges for end in edge}, drawn)
        for node in plan["nodes"]:
            if node["axes"]:
                self.assertIn(f"{node['op']} over {'+'.join(node['axes'])}\\n{node['wire_bytes']} wire bytes",
                              picture)

    def test_picture_of_layers_can_be_looked_at(self):
        plan = json.loads(self.call("plan", self.STRATEGY, "--format=json", self.GRAPH).stdout)
        picture = self.call("plan", self.STRATEGY, "--format=dot", self.GRAPH).stdout
        drawn = re.findall(r'^ +"([^"]+)" \[(?:shape=note )?label=', picture, re.MULTILINE)
        self.assertEqual(len(drawn), len(set(drawn)))
        self.assertLess(len(drawn), 48)
        self.assertLessEqual({"stem", "a2_3x3", "a_concat", "classifier", "images"}, set(drawn))
        blocks = re.findall(r'subgraph "cluster_([^"]+)"', picture)
        self.assertLessEqual({"a", "b", "stem"}, set(blocks))
        edges = re.findall(r'^  "([^"]+)" -> "([^"]+)";$', picture, re.MULTILINE)
        self.assertLessEqual({end for edge in edges for end in edge}, set(drawn))
        for edge in [("images", "stem"), ("stem_pool", "a2_1x1"), ("a2_1x1", "a2_3x3"), ("a2_3x3", "a_concat")]:
            self.assertIn(edge, edges)
        self.assertNotIn(("a2_3x3", "a2_1x1"), edges, "the backward pass is within the boxes")
        work = sum(node["flops"] for node in plan["nodes"] if node["name"].startswith("stem/")) / 1e6
        self.assertIn(f"{work:.2f} MFLOP", picture)


if __name__ == "__main__":
    unittest.main()
