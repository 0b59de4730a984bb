"""Graphs of any inputs are trained on the user's own arrays: by threads and by processes as by one rank."""

import json
import os
import unittest

from tests.tools.commands import array_models as models
from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import TrainerCase


class ArraysCase(TrainerCase):

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def report(self, name="r.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def metrics(self, entry, kind):
        return {metric["name"]: metric["value"] for metric in entry[kind + "_metrics"]}


class LearningTest(ArraysCase):

    def learn(self, graph, data, *flags):
        """Trains on one rank, two threads and two processes: the same losses, and the same bytes of both splits."""
        reports = {}
        for how, launch, split in [("serial", [], []), ("threads", [], ["--dp=2"]),
                                   ("processes", ["launch", "--nproc=2", "--"], ["--dp=2"])]:
            done = self.call(*launch, "train", "--data=" + data, "--threads=1", *flags, *split,
                             f"--save={how}.safetensors", f"--report={how}.json", graph)
            self.assertIn("data wait", done.stdout)
            reports[how] = self.report(how + ".json")
        for how in ("threads", "processes"):
            for mine, serial in zip(reports[how]["epochs"], reports["serial"]["epochs"], strict=True):
                self.assertAlmostEqual(mine["training_loss"], serial["training_loss"], places=4)
                self.assertAlmostEqual(mine["test_loss"], serial["test_loss"], places=4)
        saved = []
        for how in ("threads", "processes"):
            with open(self.path(how + ".safetensors"), "rb") as file:
                saved.append(file.read())
        self.assertEqual(saved[0], saved[1])
        self.call("verify", "--data=" + data, "--dp=2", "--precision=f64", graph)
        return reports["serial"]

    def test_a_hundred_classes(self):
        graph = self.write("g.pbtxt", models.classifier(50))
        write.npz(self.path("d.npz"), models.in_sets(models.class_data, 2000, 220))
        report = self.learn(graph, "d.npz", "--epochs=6")
        self.assertGreater(report["test_accuracy"], 0.9)
        self.assertEqual(self.metrics(report, "test"), {"right": report["test_accuracy"]})
        self.assertEqual(self.metrics(report["epochs"][0], "training"),
                         {"right": report["epochs"][0]["training_accuracy"]})
        # The last batch of 220 samples is not full; what fills it counts nothing.
        done = self.call("evaluate", "--data=d.npz", "--batch=44", "--load=serial.safetensors", graph)
        self.assertIn(f"test right      {100 * report['test_accuracy']:.2f} %", done.stdout)

    def test_regression(self):
        graph = self.write("g.pbtxt", models.regression(20))
        write.folder(self.folder, models.in_sets(models.number_data, 400, 50))
        report = self.learn(graph, ".", "--epochs=8")
        self.assertLess(report["test_loss"], 1e-3)
        self.assertNotIn("accuracy", json.dumps(report))
        # One set is enough: predictions need no targets, training no test.
        os.unlink(self.path("test/y.npy"))
        os.unlink(self.path("train/x.npy"))
        os.unlink(self.path("train/y.npy"))
        done = self.call("predict", "--data=.", "--load=serial.safetensors", "--output=p.csv", "--value=prediction", graph)
        self.assertIn("of 50 samples, f32[50,1]", done.stdout)
        with open(self.path("p.csv"), encoding="utf-8") as file:
            predicted = [float(line) for line in file.read().splitlines()[1:]]
        for mine, target in zip(predicted, models.number_data(50, 3)["y"][2], strict=True):
            self.assertAlmostEqual(mine, target, delta=0.2)

    def test_two_inputs_of_a_description(self):
        graph = self.write("g.pbtxt", models.two_inputs(30))
        train, test = models.two_data(600, 2), models.two_data(70, 3)
        write.idx(self.path("images.idx"), *train["views/image"])
        write.safetensors(self.path("rest.safetensors"), {"numbers": train["numbers"], "answers": train["labels"]})
        write.npz(self.path("test.npz"), test)
        image = 'fields { input: "views/image" file: "%s" mean: 0.5 deviation: 0.25 }\n'
        self.write("data.pbtxt", "schema_version: 1\ntrain {\n" + image % "images.idx" + """
            fields { input: "numbers" file: "rest.safetensors" }
            fields { input: "labels" file: "rest.safetensors" key: "answers" }
        }
        test {
        """ + image % "test.npz" + """
            fields { input: "numbers" file: "test.npz" }
            fields { input: "labels" file: "test.npz" }
        }\n""")
        report = self.learn(graph, "data.pbtxt", "--epochs=3")
        self.assertGreater(report["test_accuracy"], 0.9)
        self.check_that_the_model_knows_its_bytes(graph, report, image, test)

    def check_that_the_model_knows_its_bytes(self, graph, report, image, test):
        """What their bytes become is part of the model: taken where the data says nothing, else compared."""
        evaluate = ["evaluate", "--load=serial.safetensors", "--threads=1", "--format=json"]
        write.npz(self.path("alone.npz"), {"test/" + name: array for name, array in test.items()})
        done = self.call(*evaluate, "--data=alone.npz", graph)
        self.assertEqual(json.loads(done.stdout)["test_loss"], report["test_loss"])
        others = 'fields { input: "numbers" file: "test.npz" } fields { input: "labels" file: "test.npz" }\n'
        self.write("other.pbtxt", "schema_version: 1\ntest {" + image.replace("0.25", "0.5") % "test.npz" + others + "}\n")
        done = self.call(*evaluate, "--data=other.pbtxt", graph, code=3)
        self.assertIn("field 'views/image': found bytes that become (byte / 255 - 0.5) / 0.5; in the training of the model "
                      "that is loaded bytes became (byte / 255 - 0.5) / 0.25", done.stderr)
        self.call(*evaluate, "--data=other.pbtxt", "--load-weights-only", graph)
        _, sizes, values = test["views/image"]
        write.npz(self.path("alone.npz"), {"test/numbers": test["numbers"], "test/labels": test["labels"],
                                           "test/views/image": ("f", sizes, [value / 255 for value in values])})
        self.assertIn("found numbers; in the training", self.call(*evaluate, "--data=alone.npz", graph, code=3).stderr)
        self.write("two.pbtxt", "schema_version: 1\ntrain {" + image % "test.npz" + others + "}\ntest {" +
                   image.replace("0.25", "0.5") % "test.npz" + others + "}\n")
        done = self.call("train", "--data=two.pbtxt", graph, code=3)
        self.assertIn("bytes become (byte / 255 - 0.5) / 0.5, those of the training set (byte / 255 - 0.5) / 0.25",
                      done.stderr)

    def test_order_is_that_of_the_seed(self):
        graph = self.write("g.pbtxt", models.classifier(50))
        write.npz(self.path("d.npz"), models.in_sets(models.class_data, 300, 50))
        losses = []
        for seed in (1, 1, 2):
            self.call("train", "--data=d.npz", f"--seed={seed}", "--report=r.json", "--threads=1", graph)
            losses.append(self.report()["epochs"][0]["training_loss"])
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], losses[2])


# What a graph may ask of its training besides.
ASKS_MORE = """optimizer {
  name: "adam" clip_norm: 1 groups { pattern: "hidden/*" rate: 0.5 }
  average { decay: 0.9 pattern: "*" warmup: true }
}
"""


class ResumeTest(ArraysCase):

    def test_goes_on_to_the_same_bits(self):
        """In the middle of an epoch, with slots, groups and averages, from a model file and from a checkpoint."""
        graph = self.write("g.pbtxt", models.classifier(50).replace("optimizer { momentum: 0.9 }\n", ASKS_MORE))
        write.npz(self.path("d.npz"), models.in_sets(models.class_data, 300, 50))
        train = ["train", "--data=d.npz", "--threads=1", "--dp=2", "--epochs=5", "--learning-rate=0.01"]
        self.call(*train, "--steps=9", "--save=whole", graph)
        self.call(*train, "--steps=4", "--save=half", "--checkpoint=kept", graph)
        self.call(*train, "--steps=9", "--load=half", "--save=of_file", graph)
        self.call(*train, "--steps=9", "--checkpoint=kept", "--resume=auto", "--save=of_checkpoint", graph)
        files = {}
        for name in ("whole", "of_file", "of_checkpoint"):
            with open(self.path(name), "rb") as file:
                files[name] = file.read()
        self.assertIn(b"hidden/weights@average", files["whole"])
        self.assertEqual(files["of_file"], files["whole"])
        self.assertEqual(files["of_checkpoint"], files["whole"])


class SetsTest(ArraysCase):

    def test_training_without_a_test_set(self):
        graph = self.write("g.pbtxt", models.classifier(50))
        arrays = models.in_sets(models.class_data, 200, 50)
        write.npz(self.path("d.npz"), {name: array for name, array in arrays.items() if name.startswith("train/")})
        done = self.call("train", "--data=d.npz", "--report=r.json", "--save=s.safetensors", graph)
        self.assertIn("there is no test set: nothing was evaluated", done.stdout)
        self.assertNotIn("test loss", done.stdout)
        self.assertNotIn("test_loss", self.report())
        done = self.call("evaluate", "--data=d.npz", "--load=s.safetensors", graph, code=3)
        self.assertIn("d.npz: found no test set", done.stderr)

    def test_random_data_for_any_graph(self):
        for name, text in (("two", models.two_inputs(10)), ("numbers", models.regression(10)),
                           ("many", models.classifier(10, 1000))):
            with self.subTest(graph=name):
                graph = self.write(name + ".pbtxt", text)
                self.call("train", "--mock-data", "--steps=3", "--dp=2", graph)
                self.call("verify", "--mock-data", "--dp=2", "--precision=f64", graph)


if __name__ == "__main__":
    unittest.main()
