"""Files of other systems and programs, in every reader: they are taken, skipped, or called what they are. And a command
reads only the set that it needs."""

import gzip
import json
import os
import struct
import unittest
import zipfile

from tests.tools.commands import array_models as models
from tests.tools.commands import array_writer as write
from tests.tools.commands import picture_writer
from tests.tools.commands.trainer_case import MLP, TrainerCase, example

MARK = b"\xef\xbb\xbf"
BATCH = 5


def letters_model():
    """Predicts a word from the one before it, of six."""
    return models.graph(
        models.node("ids", "input", dtype="i32", shape=[BATCH, 2]) +
        models.node("targets", "input", dtype="i32", shape=[BATCH, 2]) +
        models.node("weights", "input", shape=[BATCH, 2]) +
        models.node("table", "parameter", initializer="glorot_uniform", shape=[6, 4]) +
        models.node("known", "embedding", "table", "ids") + models.dense("logits", "known", [4, 6]) +
        models.node("all", "sum", "weights") + models.node("shares", "over", "weights", "all") +
        models.node("loss", "softmax_cross_entropy", "logits", "targets", "shares", reduction="sum"), "loss")


class ForeignFilesCase(TrainerCase):

    def put(self, name, contents):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(contents if isinstance(contents, bytes) else contents.encode())
        return name

    def get(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


class MarksTest(ForeignFilesCase):

    def test_every_reader_of_text(self):
        """With a byte order mark each does what it does without; in UTF-16 it is refused by that name."""
        with open(MLP, "rb") as file:
            graph = file.read()
        with open(example("lenet5_pipeline.pbtxt"), "rb") as file:
            strategy = file.read()
        letters = self.put("letters.pbtxt", letters_model())
        words = "</s>\n<unk>\na\nb\nc\nd\n"
        text = ("train", "--data=t", "--steps=2", "--threads=1", letters)
        self.put("t/vocabulary.txt", words)
        self.put("t/train.txt", "a b c d\n" * 20)
        right = self.put("right", "a b\n")
        readers = [("g.pbtxt", graph, ("check", "g.pbtxt")),
                   ("s.pbtxt", strategy, ("check", "--strategy=s.pbtxt", example("lenet5.pbtxt"))),
                   ("c.toml", b"batch = 8\n", ("train", "--config=c.toml", "--mock-data", "--steps=2", MLP)),
                   ("t/vocabulary.txt", words.encode(), text), ("t/train.txt", b"a b c d\n" * 20, text),
                   ("ours", b"a b\n", ("score", "--references=" + right, "ours"))]
        for name, contents, command in readers:
            with self.subTest(reader=name):
                self.put(name, MARK + contents)
                self.call(*command)
                for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
                    self.put(name, contents.decode().encode(encoding))
                    says = self.call(*command, code=2 if name == "c.toml" else 3).stderr
                    self.assertRegex(says, f"{name}: is text in {encoding[:6].upper()}")
                    self.assertIn("expected UTF-8 (iconv -f", says)
                self.put(name, contents)


class NeededSetTest(ForeignFilesCase):
    """evaluate and predict give the same bytes when the training set has become garbage, of every kind of data."""

    def check_test_set_alone(self, data, graph, spoil, *flags):
        train = ("train", f"--data={data}", "--steps=2", "--threads=1", "--save=m.st", *flags, graph)
        self.call(*train)
        results = []
        for spoilt in (False, True):
            if spoilt:
                spoil()
                self.call(*train, code=3)
            done = self.call("evaluate", f"--data={data}", "--load=m.st", "--threads=1", "--format=json", *flags, graph)
            self.call("predict", f"--data={data}", "--load=m.st", "--threads=1", "--output=p.npy", *flags, graph)
            results.append((json.loads(done.stdout)["test_loss"], self.get("p.npy")))
        self.assertEqual(results[0], results[1])

    def spoil_files(self, folder, ending=""):
        def spoil():
            for place, _, names in os.walk(self.path(folder)):
                for name in names:
                    if name.endswith(ending):
                        self.put(os.path.join(place, name), b"garbage")
        return spoil

    def test_pictures(self):
        picture_writer.write_folder(self.path("d/train"), 8)
        picture_writer.write_folder(self.path("d/test"), 4)
        self.check_test_set_alone("d", MLP, self.spoil_files("d/train"), "--batch=4")

    def test_archives(self):
        os.makedirs(self.path("d"))
        picture_writer.write_shard(self.path("d/train-0.tar"), 8)
        picture_writer.write_shard(self.path("d/test-0.tar"), 4)
        self.check_test_set_alone("d", MLP, self.spoil_files("d", "train-0.tar"), "--batch=4")

    def test_images(self):
        graph = example("lenet5.pbtxt")
        os.makedirs(self.path("d"))
        for name, count in ("train", 32), ("t10k", 16):
            write.idx(self.path(f"d/{name}-images-idx3-ubyte"), "B", [count, 28, 28],
                      [i % 251 for i in range(count * 784)])
            write.idx(self.path(f"d/{name}-labels-idx1-ubyte"), "B", [count], [i % 10 for i in range(count)])

        def spoil():
            self.put("d/train-images-idx3-ubyte", b"garbage")
        self.check_test_set_alone("d", graph, spoil, "--batch=8")

    def test_arrays(self):
        graph = self.put("g.pbtxt", models.classifier(5))
        write.folder(self.path("d"), models.in_sets(models.class_data, 20, 10))
        self.check_test_set_alone("d", graph, self.spoil_files("d/train"))

    def test_a_file_of_arrays(self):
        graph = self.put("g.pbtxt", models.classifier(5))
        arrays = models.in_sets(models.class_data, 20, 10)
        write.npz(self.path("d.npz"), arrays)

        def spoil():
            write.npz(self.path("d.npz"), dict(arrays, **{"train/points": ("f", [1], [float("nan")])}))
        self.check_test_set_alone("d.npz", graph, spoil)

    def test_texts(self):
        graph = self.put("g.pbtxt", letters_model())
        self.put("d/vocabulary.txt", "</s>\n<unk>\na\nb\nc\nd\n")
        for name in ("train", "test"):
            self.put(f"d/{name}.txt", "a b c d\n" * 20)
        self.check_test_set_alone("d", graph, lambda: self.put("d/train.txt", b""))


class SkippedFilesTest(ForeignFilesCase):

    def test_folders_archives_and_arrays(self):
        """What macOS and Windows leave behind is skipped in each of them; endings are in any case."""
        litter = ("._0.png", ".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX/0.png", "._x.npy", "__MACOSX/x.npy")
        train = ("train", "--steps=2", "--threads=1", "--batch=4", "--report=r.json")
        picture_writer.write_folder(self.path("d"), 8)
        os.rename(self.path("d/dark/0.png"), self.path("d/dark/0.PNG"))
        for name in litter:
            self.put("d/dark/" + name, b"garbage")
            self.put("d/" + name, b"garbage")
        self.call(*train, "--data=d", MLP)
        graph = self.put("g.pbtxt", models.classifier(5))
        write.folder(self.path("a"), models.in_sets(models.class_data, 20, 10))
        os.rename(self.path("a/train/points.npy"), self.path("a/train/points.NPY"))
        for name in litter:
            self.put("a/train/" + name, b"garbage")
        self.call(*train, "--data=a", graph)
        write.npz(self.path("a.npz"), models.in_sets(models.class_data, 20, 10))
        with zipfile.ZipFile(self.path("a.npz"), "a") as archive:
            archive.writestr("__MACOSX/train/._points.npy", b"garbage")
        self.call(*train, "--data=a.npz", graph)

    def test_what_stops_a_run_names_the_flag_that_does_not(self):
        picture_writer.write_folder(self.path("d"), 8)
        self.put("d/dark/notes.txt", b"notes")
        done = self.call("train", "--data=d", "--steps=2", "--batch=4", MLP, code=3)
        self.assertIn("d/dark/notes.txt: found text, allowed are JPEG and PNG files; --bad-files=skip skips such files",
                      done.stderr)

    def test_arrays_that_the_graph_does_not_take(self):
        graph = self.put("g.pbtxt", models.classifier(5))
        arrays = models.in_sets(models.class_data, 20, 10)
        arrays |= {"train/point": ("f", [1], [1]), "test/more": ("f", [1], [1]), "meta": ("f", [1], [1])}
        for name, writer in ("d.npz", write.npz), ("d.safetensors", write.safetensors):
            writer(self.path(name), arrays)
            done = self.call("train", "--data=" + name, "--steps=2", "--threads=1", graph)
            for says in (f"{name}: ignored are arrays of neither set: 'meta'",
                         f"{name}, training set: ignored are arrays that the graph does not take: point",
                         f"{name}, test set: ignored are arrays that the graph does not take: more"):
                self.assertEqual(done.stderr.count(says), 1, done.stderr)


class OtherTypesTest(ForeignFilesCase):

    def test_arrays_of_every_form_train_alike(self):
        """The same numbers as half, single and double, in both byte orders, in both orders of dimensions."""
        graph = self.put("g.pbtxt", models.classifier(5))
        values = [i % 16 - 8 for i in range(160)]
        columns = [values[8 * row + column] for column in range(8) for row in range(20)]

        def stored(order, letter, numbers, descr, fortran="False"):
            whole = write.npy("B", [20, 8], [], descr, fortran)
            return whole + struct.pack(f"{order}{len(numbers)}{letter}", *numbers)
        forms = {"f4": stored("<", "f", values, "<f4"), "f2": stored("<", "e", values, "<f2"),
                 "f8": stored(">", "d", values, ">f8"), "f2 turned": stored(">", "e", values, ">f2"),
                 "i1": stored("<", "b", values, "|i1"), "i4": stored(">", "i", values, ">i4"),
                 "fortran": stored("<", "f", columns, "<f4", "True"),
                 "bf16": stored("<", "H", [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values], "<V2")}
        saved = {}
        write.folder(self.path("d"), {"train/class": ("q", [20], [i % 7 for i in range(20)])})
        for name, contents in forms.items():
            self.put("d/train/points.npy", contents)
            self.call("train", "--data=d", "--steps=3", "--threads=1", "--save=m.st", "--save-weights-only", graph)
            saved[name] = self.get("m.st")
        for name, model in saved.items():
            self.assertEqual(model, saved["f4"], name)


class SentencesTest(ForeignFilesCase):

    def refuses(self, says, *arguments, code=3):
        self.assertIn(says, self.call(*arguments, code=code).stderr)

    def test_models_of_other_programs(self):
        with zipfile.ZipFile(self.path("model.pt"), "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("model/data.pkl", b"\x80\x02}q\x00.")
        self.put("old.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
        self.put("model.h5", b"\x89HDF\r\n\x1a\n" + bytes(600))
        self.put("model.txt", b"weights\n" * 9)
        for name in ("model.pt", "old.pt"):
            self.refuses(f"{name}: is a PyTorch checkpoint (torch.save); expected a safetensors file, which "
                         "safetensors.torch.save_file(state_dict, FILE) writes", "evaluate", "--mock-data",
                         "--load=" + name, MLP)
        self.refuses("model.h5: is an HDF5 file; expected a safetensors file", "evaluate", "--mock-data",
                     "--load=model.h5", MLP)
        self.refuses("model.txt: is text; expected", "evaluate", "--mock-data", "--load=model.txt", MLP)

    def test_data_of_another_kind(self):
        self.put("one.png", picture_writer.picture(0, 0))
        self.put("table.csv", b"x,y\n1,2\n")
        self.put("a.gz", gzip.compress(b"x"))
        graph = self.put("g.pbtxt", models.classifier(5))
        self.refuses("one.png: is a PNG picture; expected .npy, .npz, safetensors or IDX; pictures are read from a "
                     "folder", "train", "--data=one.png", graph)
        self.refuses("table.csv: found a table of labels; a data set is", "train", "--data=table.csv", graph)
        self.refuses("; numpy.loadtxt and numpy.savez make arrays", "train", "--data=table.csv", graph)
        write.npz(self.path("d.npz"), models.in_sets(models.class_data, 20, 10))
        self.put("two.npz", self.get("d.npz") * 2)
        self.refuses("two.npz: found other bytes before the zip archive", "train", "--data=two.npz", graph)

    def test_flags_of_other_programs(self):
        for flag, ours in (("--batch-size=8", "--batch"), ("--batch_size=8", "--batch"), ("--lr=0.1", "--learning-rate"),
                           ("--num-epochs=2", "--epochs"), ("--output-dir=x", "--checkpoint"),
                           ("--max_steps=2", "--steps")):
            self.refuses(f"is unknown here; did you mean '{ours}'?", "train", flag, MLP, code=2)

    def test_pictures_that_take_too_much_memory(self):
        """Told from the header, before anything is decoded; skipped as any other bad file."""
        picture_writer.write_folder(self.path("d"), 8)
        rows = [[0] * 2000] * 2000
        self.put("d/dark/large.png", picture_writer.png(2000, 2000, rows))
        train = ("train", "--data=d", "--steps=2", "--batch=4", "--decode-memory=2MiB", "--format=json")
        self.refuses("d/dark/large.png: found a picture of 2000 x 2000 pixels, which takes 4 MiB to decode; expected at "
                     "most 2 MiB (scale it down, or raise --decode-memory); --bad-files=skip skips such files", *train,
                     MLP)
        report = json.loads(self.call(*train, "--bad-files=skip", "--decode-threads=3", MLP).stdout)
        self.assertEqual((report["left_out_files"], report["decode_memory_bytes"]), (1, 3 * 2 << 20))
        self.call(*train[:-2], "--decode-memory=8MiB", MLP)


if __name__ == "__main__":
    unittest.main()
