"""`benchmark models` as its users run it: forms of output, splits, peers and refusals."""

import html.parser
import json
import os
import subprocess
import tempfile
import unittest

from tests.tools.benchmarks.benchmark_program import BENCHMARK, call, history_of, make_home


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

    def test_a_transformer(self):
        (row,) = self.rows("--model=gpt2", "--batch=1", "--vocabulary=200", "--hidden=24", "--layers=2")
        self.assertEqual((row["model"], row["unit"], row["image_size"]), ("gpt2", "words/s", 0))
        self.assertAlmostEqual(row["ours"]["per_s"]["median"] * row["session"]["step_seconds"], 512, delta=1)
        # 512 words through two blocks of 12 matrices of 24 x 24 and a table of 200 words, each product forward and
        # twice backward; attention multiplies every word by all, or half where it is causal, and twice forward.
        products, attention = 3 * 2 * 512 * (2 * 12 * 24**2 + 24 * 200), 3 * 2 * 2 * 2 * 512**2 * 24
        step = row["flops_per_s"] * row["session"]["step_seconds"]
        self.assertGreater(step, products + attention / 2)
        self.assertLess(step, 2 * (products + attention))

    def test_a_transformer_of_other_words(self):
        sizes = ["vocabulary=200", "hidden=24", "layers=2", "length=40"]
        (row,) = self.rows("--model=bert-base", "--batch=2", *["--" + size for size in sizes])
        self.assertEqual((row["model"], row["sizes"], row["unit"]), ("bert-base", sizes, "words/s"))
        self.assertAlmostEqual(row["ours"]["per_s"]["median"] * row["session"]["step_seconds"], 2 * 40, delta=1)

    def test_classes_of_pixels(self):
        (row,) = self.rows("--model=unet", "--batch=2", "--image-size=16")
        self.assertEqual((row["model"], row["image_size"], row["unit"]), ("unet", 16, "images/s"))
        # 31 million parameters, and Adam's two states of each.
        self.assertGreater(row["session"]["used_bytes"], 3 * 31e6 * 4)

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
        self.assertNotRegex(text, "https?:")

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

    def test_a_peer_of_another_python_that_is_not_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            make_home(folder, difference=0.1)
            python = os.path.join(folder, ".cache/partita/peer/bin/python")
            (row,) = self.rows("--model=mini-inception", "--batch=4", "--peer=pytorch", "--peer-forms=eager",
                               f"--peer-python={python}", "--skip-agreement", HOME="/nowhere")
        self.assertEqual(row["peer"], "pytorch 9.9")
        self.assertNotIn("agreement", row)
        self.assertEqual(row["best"], "eager")

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
            (["--model=gpt2", "--hidden=50"], 3, "heads is 12; expected a divisor of the width (hidden), which is 50"),
            (["--model=vit-b-16", "--image-size=50"], 3, "patch is 16"),
            (["--model=t5-small", "--length=9"], 2, "flag --length is for big-lstm, gpt2, bert-base; --model is t5-small"),
        ]:
            with self.subTest(arguments=arguments):
                done = call("models", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(says, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
