"""Runs the real benchmark program as its users do: forms of output and refusals."""

import csv
import glob
import html.parser
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCHMARK = os.path.abspath("tools/benchmark")


def call(*arguments):
    return subprocess.run([BENCHMARK, *arguments], capture_output=True, text=True, timeout=300)


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


def history_of(test, *arguments):
    """What a benchmark of four steps that count adds to a history."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.jsonl")
        done = call(*arguments, "--history=" + history)
        test.assertEqual(done.returncode, 0, done.stderr)
        with open(history, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
    for run in runs:
        test.assertEqual((run["cluster"], run["steps"]), ("two-cores", 4))
        kinds = [kind for kind in run["terms"] if kind.startswith("op ")]
        test.assertGreater(len(kinds), 2, run)
        for kind in ["step", "memory", *kinds]:
            test.assertGreater(run["terms"][kind]["predicted"], 0)
            test.assertGreater(run["terms"][kind]["measured"], 0)
    return runs


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


# Stands for the Python of tools/peer/install: trains at a speed of its own, agrees or not, and has no compiler.
FAKE_PEER = """#!{python}
import os, sys
open(sys.argv[1]).close()
print("9.9", flush=True)
if "--mode=compile" in sys.argv:
    sys.exit(1)
if not os.environ.get("MALLOC_TRIM_THRESHOLD_") and "--mode=eager" in sys.argv:
    seconds = 1000
else:
    seconds = 500
print("ready", flush=True)
for line in sys.stdin:
    if sys.argv[1].endswith("agree.py"):
        print('{{"loss_difference": 1e-7, "gradients": 3, "gradient_error": {difference}, "peer_error": 1e-4, "largest": "w"}}', flush=True)
    else:
        print(seconds, flush=True)
"""


def make_home(folder, difference):
    """A home folder with a peer whose gradients differ by so much."""
    programs = os.path.join(folder, ".cache/partita/peer/bin")
    os.makedirs(programs)
    path = os.path.join(programs, "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAKE_PEER.format(python=sys.executable, difference=difference))
    os.chmod(path, 0o755)


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


class Tags(html.parser.HTMLParser):
    """Open elements, and whether each was closed in turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.balanced, self.bars = [], True, 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta",):
            self.open.append(tag)
        self.bars += ("class", "ours") in attributes

    def handle_endtag(self, tag):
        self.balanced &= self.open.pop() == tag


# How much of the code and libraries is in memory is the kernel's to choose, and differs from run to run.
PAGES_OF_CODE = 24 << 20


class ModelsTest(unittest.TestCase):

    def rows(self, *arguments, code=0, **environment):
        done = subprocess.run([BENCHMARK, "models", "--steps=1", "--rounds=1", "--precision=f32", "--format=json", *arguments],
                              capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def test_steps_are_held_against_predictions(self):
        flags = ["--model=conv-stack", "--batch=2", "--dp=2", "--steps=2", "--rounds=2", "--precision=f32"]
        (run,) = history_of(self, "models", "--cluster=two_cores", *flags)
        self.assertEqual((run["model"], run["strategy"]), ("conv-stack", "data:2 model:1"))
        self.assertIn("group data", run["terms"])
        done = call("models", "--cluster=three_cores", *flags)
        self.assertEqual(done.returncode, 2)
        self.assertIn("known are: dgx1_v100", done.stderr)

    def test_rows(self):
        (row,) = self.rows("--model=conv-stack", "--batch=1")
        self.assertEqual((row["model"], row["batch"], row["image_size"], row["peer"]), ("conv-stack", 1, 56, ""))
        self.assertEqual((row["session"]["device"], row["session"]["ranks"], row["others"]), ("host", 1, []))
        # Eight convolutions, each forward and twice backward, are nearly all of the work.
        self.assertAlmostEqual(row["flops_per_s"] / row["ours"]["per_s"]["median"],
                               8 * 3 * 2 * 56**2 * 9 * 128**2, delta=1e9)
        self.assertGreater(row["flop_utilisation"], 0)
        self.assertAlmostEqual(row["flop_utilisation"] * row["product_flops_per_s"], row["flops_per_s"], delta=1)
        # What is copied comes on top of products.
        self.assertGreater(row["limit_share"], row["flop_utilisation"])
        speed = row["ours"]["per_s"]
        self.assertTrue(speed["low"] <= speed["median"] <= speed["high"])
        self.assertGreater(row["session"]["used_bytes"], 0)
        # The process has its arena, and what it takes besides; the whole of it, its code and libraries as well.
        self.assertGreater(row["ours"]["grown_bytes"], row["session"]["used_bytes"])
        self.assertGreater(row["ours"]["resident_bytes"], row["ours"]["grown_bytes"])
        self.assertAlmostEqual(row["ours"]["resident_bytes"], row["session"]["planned_process_bytes"],
                               delta=max(0.1 * row["ours"]["resident_bytes"], PAGES_OF_CODE))
        self.assertEqual(row["unit"], "images/s")

    def test_text(self):
        done = call("models", "--steps=1", "--rounds=1", "--precision=f32", "--model=mini-inception", "--batch=4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r" images/s ")
        self.assertRegex(done.stdout, r"; the whole process planned \S+, resident \S+ at most, grew by \S+\n")

    def test_pictures_are_given_as_bytes(self):
        # As training has them: the batches that lie ready are a fourth of what they are as numbers, and fewer bytes
        # are planned of a process that makes some of them ahead.
        (row,) = self.rows("--model=wide-mlp", "--batch=512")
        self.assertLess(row["session"]["planned_process_bytes"] - row["session"]["planned_bytes"],
                        16 * 512 * 28 * 28 * 4 + (44 << 20))

    # 110 million parameters.
    def test_a_model_of_words(self):
        (row,) = self.rows("--model=big-lstm", "--batch=1")
        self.assertEqual((row["model"], row["batch"], row["image_size"]), ("big-lstm", 1, 0))
        self.assertEqual(row["unit"], "words/s")
        self.assertGreater(row["ours"]["per_s"]["median"], 0)

    def test_sizes_of_a_model_of_words(self):
        sizes = ["vocabulary=200", "hidden=16", "layers=2"]
        (row,) = self.rows("--model=gnmt", "--batch=2", *["--" + size for size in sizes])
        self.assertEqual((row["model"], row["sizes"]), ("gnmt", sizes))
        self.assertEqual(row["unit"], "words/s")
        self.assertAlmostEqual(row["ours"]["per_s"]["median"] * row["session"]["step_seconds"], 2 * 28, delta=1)
        # Of 2 pairs of 27 and 28 words: both ways of the encoder's first LSTM, its second, two of the decoder, the
        # attention's query and keys, and the classifier, each forward and twice backward.
        of_source, of_target = (8 + 8 + 12) * 16**2 + 16**2, (8 + 12) * 16**2 + 16**2 + 16 * 200
        step = 3 * 2 * 2 * (27 * of_source + 28 * of_target)
        self.assertGreater(row["flops_per_s"] / row["ours"]["per_s"]["median"] * 2 * 28, step)
        self.assertLess(row["flops_per_s"] / row["ours"]["per_s"]["median"] * 2 * 28, 2 * step)

    def test_split(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            (row,) = self.rows("--model=mini-inception", "--batch=4", "--dp=2", "--report=" + page)
            with open(page, encoding="utf-8") as file:
                text = file.read()
        self.assertEqual((row["session"]["ranks"], row["session"]["threads_per_rank"]), (2, 1))
        self.assertEqual([other["name"] for other in row["others"]], ["one rank"])
        session = row["session"]
        self.assertTrue(0 < session["exposed_seconds"] <= session["communication_seconds"] <= session["step_seconds"])
        # Of the same steps: of the one round that counts, and not of the one that warms up.
        self.assertAlmostEqual(row["exposed_share"], session["exposed_seconds"] / session["step_seconds"])
        self.assertAlmostEqual(session["step_seconds"] * row["ours"]["per_s"]["median"], 4, delta=0.1)
        tags = Tags(text)
        self.assertEqual((tags.balanced, tags.open), (True, []))
        self.assertEqual(tags.bars, 7)  # throughput, memory planned of arenas and whole, and found, three shares
        self.assertNotIn("http", text)

    def test_strategy_of_a_file(self):
        (row,) = self.rows("--model=mini-inception", "--batch=4", "--strategy=tools/models/examples/mini_inception_2x2.pbtxt")
        self.assertEqual((row["session"]["ranks"], row["session"]["mesh"]), (4, "data:2 model:2"))

    def test_peer(self):
        with tempfile.TemporaryDirectory() as folder:
            make_home(folder, difference=1e-3)
            (row,) = self.rows("--model=mini-inception", "--batch=4", "--peer=pytorch", HOME=folder)
        self.assertEqual(row["peer"], "pytorch 9.9")
        self.assertEqual(row["agreement"], {"batch": 4, "loss_difference": 1e-7, "gradients": 3,
                                            "gradient_error": 1e-3, "peer_error": 1e-4, "largest": "w"})
        others = {other["name"]: other for other in row["others"]}
        self.assertEqual(list(others), ["eager", "eager-malloc", "compile", "compile-malloc"])
        self.assertAlmostEqual(others["eager"]["per_s"]["median"], 4 / 1000)
        self.assertAlmostEqual(others["eager-malloc"]["per_s"]["median"], 4 / 500)
        self.assertIn("exit code 1", others["compile"]["failure"])
        self.assertEqual(row["best"], "eager-malloc")
        self.assertAlmostEqual(row["ratio"]["median"], row["ours"]["per_s"]["median"] * 500 / 4, delta=1)

    def test_a_peer_that_has_another_network(self):
        with tempfile.TemporaryDirectory() as folder:
            make_home(folder, difference=0.1)
            error = self.rows("--model=mini-inception", "--batch=4", "--peer=pytorch", code=6, HOME=folder)
        self.assertIn("the gradient of 'w' by 1.0e-01", error)

    def test_refusals(self):
        with_strategy = "--strategy=tools/models/examples/mini_inception_2x2.pbtxt"
        for arguments, code, says in [
            (["--precision=tf32"], 2, "tf32"),
            (["--model=lenet5"], 2, "lenet5"),
            (["--peer=pytorch", "--peer-forms=eager,graph"], 2, "form 'graph' is none of eager,"),
            ([with_strategy, "--dp=2"], 2, "--strategy and --dp"),
            (["--model=wide-mlp", with_strategy], 3, "mini_inception_2x2.pbtxt"),
            (["--model=wide-mlp", "--hidden=9"], 2, "flag --hidden is for models of words; --model is wide-mlp"),
            (["--model=gnmt", "--image-size=9"], 2, "flag --image-size is for models of images; --model is gnmt"),
            (["--model=gnmt", "--layers=1"], 3, "layers is 1"),
        ]:
            with self.subTest(arguments=arguments):
                done = call("models", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(says, done.stderr)
                self.assertEqual(done.stdout, "")


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
        ]:
            with self.subTest(arguments=arguments):
                done = call(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(says, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
