"""Samples with several labels each, in tables beside arrays, against PyTorch and scikit-learn."""

import json
import os
import unittest

from tests.tools.commands.data.linear_case import CLASSES, GOLDEN, LINEAR, LinearCase

NAMES = ("rain", "wind", "snow", "hail")


def several(count, first):
    return [[(i + first) * (c + 2) % 3 == 0 for c in range(CLASSES)] for i in range(count)]


class LabelsTest(LinearCase):

    def write_labels(self, table, names=NAMES):
        """label.csv of both sets, made by table(rows of truth values)."""
        with open(self.path("data/classes.txt"), "w", encoding="utf-8") as file:
            file.write("".join(name + "\n" for name in names))
        for name, size in self.sets.items():
            if os.path.exists(self.path(f"data/{name}/label.npy")):
                os.remove(self.path(f"data/{name}/label.npy"))
            with open(self.path(f"data/{name}/label.csv"), "w", encoding="utf-8") as file:
                file.write(table(several(*size)))

    @staticmethod
    def lists(rows):
        return "classes\n" + "".join(";".join(name for name, there in zip(NAMES, row) if there) + "\n" for row in rows)

    @staticmethod
    def columns(rows):
        """In another order than classes.txt."""
        order = [2, 0, 3, 1]
        return "\r\n".join(",".join(line) for line in [[f'"{NAMES[c]}"' for c in order],
                                                       *[[str(int(row[c])) for c in order] for row in rows]])

    def test_several_labels_are_those_of_pytorch(self):
        for table in (self.lists, self.columns):
            self.write_labels(table)
            for batch in (4, 9):
                for split in ([], ["--dp=2"], ["--mp=2"]):
                    with self.subTest(table=table.__name__, batch=batch, split=split):
                        self.call("evaluate", "--data=data", "--loss=bce_with_logits", f"--batch={batch}", "--threads=1",
                                  "--report=r.json", *split, LINEAR)
                        with open(self.path("r.json"), encoding="utf-8") as file:
                            report = json.load(file)
                        metrics = {metric["name"]: metric["value"] for metric in report["test_metrics"]}
                        self.close((report["test_loss"], metrics["label_accuracy"], metrics["f1"]),
                                   [GOLDEN["several"][name] for name in ("loss", "label_accuracy", "f1")], "evaluate")

    def test_several_labels_are_learnt(self):
        self.write_labels(self.lists)
        self.call("train", "--data=data", "--loss=bce_with_logits", "--batch=6", "--epochs=400", "--optimizer=adam",
                  "--learning-rate=0.05", "--schedule=constant", "--threads=1", "--dp=2", "--report=r.json", LINEAR)
        with open(self.path("r.json"), encoding="utf-8") as file:
            epochs = json.load(file)["epochs"]
        f1 = [{metric["name"]: metric["value"] for metric in epochs[e]["training_metrics"]}["f1"] for e in (0, -1)]
        self.assertLess(f1[0], 0.8)
        self.assertGreater(f1[1], f1[0] + 0.1)

    def test_wrong_labels_are_refused(self):
        evaluate = ["evaluate", "--data=data", "--loss=bce_with_logits", "--batch=3", LINEAR]
        for names, table, says in (
                (NAMES, "x\nrain;wnd\n", "label.csv: line 2: found 'wnd', which is no class of"),
                (NAMES, "x\nrain;wnd\n", "did you mean 'wind'?"),
                (NAMES, "x\nrain;rain\n", "line 2: class 'rain' is there twice"),
                (NAMES, "x\nrain,wind\n", "line 2: found 2 values; expected 1, as in the header (names of classes have ';'"),
                (NAMES, 'x\n"rain\n', "line 2: a quote is not closed"),
                (NAMES, "rain,wind,snow\n1,0,1\n", "line 1: class 'hail' of"),
                (NAMES, "rain,wind,snow,hale\n1,0,1,1\n", "line 1: found 'hale', which is no class"),
                (NAMES, "rain,wind,snow,hail\n1,0,2,1\n", "line 2: column 3: found '2'; expected 0 or 1"),
                (NAMES, "rain,wind,snow,hail\n1,0,1\n", "line 2: found 3 values; expected 4"),
                (NAMES, "x\n", "found no rows behind the header"),
                (NAMES[:3], "x\nrain\n", "found bool[1,3], the graph takes f32[4] in each row"),
                ((*NAMES, "rain"), "x\nrain\n", "classes.txt: line 5: found 'rain'; expected the name of another class")):
            with self.subTest(table=table, says=says):
                self.write_labels(lambda _, table=table: table, names)
                self.assertIn(says, self.call(*evaluate, code=3).stderr)
        os.remove(self.path("data/classes.txt"))
        self.assertIn("found no classes.txt beside it", self.call(*evaluate, code=3).stderr)


if __name__ == "__main__":
    unittest.main()
