"""Runs the real benchmark program as its users do: forms of output and refusals."""

import csv
import glob
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from tests.tools.benchmarks.benchmark_program import BENCHMARK, call, history_of, make_home


class PlaceTest(unittest.TestCase):

    def test_finds_its_files_wherever_it_is_started(self):
        # Beside the program, as in bazel-bin; in the test's folder they lie where it is started.
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "tools"))
            program = os.path.join(folder, "tools", "benchmark")
            shutil.copy(BENCHMARK, program)
            for libraries in glob.glob("_solib_*"):  # found from where the program lies
                os.symlink(os.path.abspath(libraries), os.path.join(folder, libraries))
            files = os.path.join(folder, "tools", "benchmark.runfiles", "partita")
            os.makedirs(files)
            os.symlink(os.path.abspath("tools"), os.path.join(files, "tools"))
            call = [program, "train", "--model=mlp", "--batch=8", "--steps=1", "--rounds=1", "--report=" + os.path.join(folder, "r.json")]
            done = subprocess.run(call, capture_output=True, text=True, timeout=300, cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(os.path.join(folder, "r.json")))
            os.unlink(os.path.join(files, "tools"))
            done = subprocess.run(call, capture_output=True, text=True, timeout=300, cwd="/")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("tools/trainer is neither here nor at", done.stderr)


class CompileTest(unittest.TestCase):

    def rows(self, *arguments):
        done = call("compile", "--rounds=1", "--nodes=500", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_forms(self):
        (row,) = json.loads(self.rows("--format=json"))
        self.assertEqual(row["ranks"], 4)
        self.assertAlmostEqual(row["program_nodes"], 500, delta=20)
        (same,) = csv.DictReader(io.StringIO(self.rows("--format=csv")))
        self.assertEqual(list(same), list(row))
        self.assertEqual(same["program_nodes"], str(row["program_nodes"]))
        titles, line = self.rows().splitlines()
        self.assertEqual(titles.split(), list(row))
        self.assertEqual(line.split()[1], str(row["program_nodes"]))

    def test_ranks(self):
        (row,) = json.loads(self.rows("--format=json", "--dp=3", "--mp=5"))
        self.assertEqual(row["ranks"], 15)


class TrainTest(unittest.TestCase):

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            done = call("train", "--model=mlp", "--batch=8", "--steps=2", "--rounds=2", "--format=json",
                        "--report=" + report)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(report, encoding="utf-8") as file:
                rows = json.load(file)
        self.assertEqual(rows, json.loads(done.stdout))
        self.assertEqual([(row["ranks"], row["processes"]) for row in rows],
                         [(1, False), (1, False), (2, False), (2, True)])
        for row in rows[2:]:
            self.assertEqual([rank["rank"] for rank in row["communication"]], [0, 1])
            for rank in row["communication"]:
                self.assertGreater(rank["gradient_busy_us"], 0)
                self.assertLessEqual(rank["gradient_busy_us"], rank["busy_us"])
                self.assertLessEqual(rank["exposed_us"], rank["busy_us"])

    def test_steps_are_held_against_predictions(self):
        runs = history_of(self, "train", "--batch=64", "--steps=2", "--rounds=2", "--cluster=two_cores")
        self.assertEqual({run["model"] for run in runs}, {"mini-inception"})
        self.assertEqual(runs[0]["strategy"], "one rank")
        self.assertIn("data:2 model:2", [run["strategy"] for run in runs])

    def test_mixed_precision(self):
        done = call("train", "--model=mlp", "--batch=8", "--steps=2", "--rounds=1", "--precision=bf16", "--format=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["precision"] for row in json.loads(done.stdout)], ["bf16", "bf16"])
        self.assertEqual(call("train", "--precision=tf32").returncode, 2)


class DecodeTest(unittest.TestCase):

    def test_rows(self):
        done = call("decode", "--batch=4", "--rounds=1", "--image-size=32", "--format=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([row["pictures"] for row in rows], ["jpeg 375 x 500", "png 375 x 500"])
        for row in rows:
            self.assertEqual((row["size"], row["peer"]), (32, ""))
            self.assertGreater(row["pictures_per_s"], 0)

    def test_peer(self):
        with tempfile.TemporaryDirectory() as folder:
            make_home(folder, difference=0)
            done = subprocess.run([BENCHMARK, "decode", "--batch=4", "--rounds=1", "--image-size=32", "--format=json",
                                   "--peer=pillow"], capture_output=True, text=True, timeout=300,
                                  env={**os.environ, "HOME": folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        for row in json.loads(done.stdout):
            self.assertEqual(row["peer"], "9.9")
            self.assertAlmostEqual(row["peer_pictures_per_s"], 4 / 500)
            self.assertGreater(row["ratio"], 1)

    def test_a_folder_without_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(call("decode", "--data=" + folder).returncode, 3)
        self.assertEqual(call("decode", "--peer=pytorch").returncode, 2)


class CommTest(unittest.TestCase):

    def rows(self, collective, ranks):
        done = call("comm", f"--collective={collective}", f"--ranks={ranks}", "--bytes=65536", "--rounds=1",
                    "--format=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_rows(self):
        for ranks in (2, 3):
            rows = self.rows("all_reduce", ranks)
            self.assertEqual([(row["backend"], row["in_place"]) for row in rows],
                             [(backend, place) for place in (False, True) for backend in ("local", "tcp", "tls", "shared_memory", "gloo_ring")])
            for row in rows:
                self.assertEqual(row["bytes"], 65536)
                self.assertGreater(row["microseconds"], 0)
                self.assertAlmostEqual(row["bus_bandwidth"], 2 * (ranks - 1) / ranks * row["algorithm_bandwidth"])
                self.assertEqual(row["ratio"] > 0, row["backend"] in ("tcp", "tls", "shared_memory"))
        for collective in ("halo", "repartition"):
            plain, local = self.rows(collective, 2)
            self.assertEqual((plain["backend"], local["backend"]), ("memcpy", "local"))
            self.assertGreater(local["ratio"], 0)
            self.assertGreater(local["latency_microseconds"], 0)

    def test_gpu_or_a_reason(self):
        done = call("comm", "--device=cuda", "--collective=broadcast", "--bytes=65536", "--rounds=1", "--format=json")
        if done.returncode == 0:
            self.assertIn("cuda_local", [row["backend"] for row in json.loads(done.stdout)])
            return
        self.assertEqual((done.returncode, done.stdout), (7, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class HaloTest(unittest.TestCase):

    def test_rows(self):
        done = call("halo", "--seconds=0", "--steps=1", "--batch=4", "--format=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([(row["delayed"], row["overlap"]) for row in rows],
                         [(delayed, overlap) for delayed in (False, True) for overlap in ("off", "auto", "on")])
        for row in rows:
            self.assertLessEqual(row["exposed_ms"], row["in_flight_ms"])
            self.assertEqual(row["rounds"], 1)
        self.assertEqual(rows[0]["convolutions"], 0)
        self.assertGreater(rows[2]["convolutions"], 0)


class SearchTest(unittest.TestCase):

    def test_rows(self):
        done = call("search", "--model=mlp", "--ranks=4", "--format=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([(row["search"], row["ranks"]) for row in rows],
                         [(search, ranks) for search in ("grid", "groups", "placement", "pipeline", "layerwise")
                          for ranks in (2, 4)])
        for row in rows:
            self.assertEqual(row["model"], "mlp")
            self.assertEqual(row["growth"] > 0, row["ranks"] == 4)
            self.assertAlmostEqual(row["given_layers_ms"], row["edges_ms"] + row["search_ms"])
        titles = call("search", "--model=mlp").stdout.splitlines()[0]
        self.assertRegex(titles, r"^search +model +ops +layers +ranks +choices +layers ms +edges ms +search ms +given ms ")


class HelpTest(unittest.TestCase):

    def test_offers_what_a_command_takes(self):
        train, models = call("train", "--help").stdout, call("models", "--help").stdout
        for offered in ("tf32", "wide-mlp", "gnmt", "inception-v3"):
            self.assertNotIn(offered, train)
            self.assertIn(offered, models)
        self.assertIn("lenet5", train)
        self.assertNotIn("lenet5", models)


class RefusalTest(unittest.TestCase):

    def test_wrong_flags(self):
        for says, arguments in [
            ("did you mean", ["compil"]),
            ("--nodes", ["compile", "--nodes=many"]),
            ("csv", ["executor", "--format=csv"]),
            ("--model", ["search", "--model=conv-stack"]),
            ("--model", ["train", "--model=wide-mlp"]),
            ("--model", ["models", "--model=lenet5"]),
            ("--peer", ["train", "--model=mlp", "--peer=pytorch"]),
            ("flag --rounds is 5; 6 or more are needed", ["oracle", "--rounds=5"]),
        ]:
            with self.subTest(arguments=arguments):
                done = call(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(says, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
