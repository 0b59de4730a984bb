"""What `train --tensorboard` writes, read as TFRecord and protobuf define it."""

import json
import os
import struct
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TrainerCase


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(contents):
    """The records of a file, after a look at their checksums."""
    while contents:
        (length,), (of_length,) = struct.unpack("<Q", contents[:8]), struct.unpack("<I", contents[8:12])
        assert of_length == masked(contents[:8])
        data, (of_data,) = contents[12:12 + length], struct.unpack("<I", contents[12 + length:16 + length])
        assert of_data == masked(data)
        yield data
        contents = contents[16 + length:]


def fields(message):
    """Number and value of each field of a protobuf message."""
    def varint():
        nonlocal message
        value = shift = 0
        while True:
            byte, message = message[0], message[1:]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while message:
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        value, message = message[:size], message[size:]
        yield key >> 3, struct.unpack("<d" if key & 7 == 1 else "<f", value)[0] if key & 7 in (1, 5) else value


class TensorboardTest(TrainerCase):

    def run_to(self, steps, *flags, code=0):
        return self.call("train", "--mock-data", "--batch=8", "--threads=1", "--epochs=10", f"--steps={steps}", *flags,
                         MLP, code=code)

    def files(self):
        return sorted(os.listdir(self.path("t")))

    def events(self, name):
        with open(self.path("t/" + name), "rb") as file:
            return [dict(fields(record)) for record in records(file.read())]

    def scalars(self, events):
        """{tag: {step: value}}"""
        found = {}
        for event in events:
            for number, value in fields(event.get(5, b"")):
                self.assertEqual(number, 1)
                scalar = dict(fields(value))
                found.setdefault(scalar[1].decode(), {})[event[2]] = scalar[2]
        return found

    def test_scalars_are_those_of_the_metrics(self):
        self.run_to(70, "--tensorboard=t", "--metrics=m.jsonl", "--metrics-every=20", "--evaluate-every=30",
                    "--gradient-norm")
        (name,) = self.files()
        self.assertRegex(name, r"^events\.out\.tfevents\.\d{10}\.")
        version, start, *events = self.events(name)
        self.assertEqual(version[3], b"brain.Event:2")
        self.assertEqual((start[2], start[7]), (1, b"\x08\x01"))  # a session starts before step 1
        for event in events:
            self.assertLess(abs(event[1] - time.time()), 300)
        scalars = self.scalars(events)
        self.assertEqual(sorted(scalars), ["accuracy/test", "accuracy/train", "gradient_norm", "learning_rate", "loss/test",
                                           "loss/train", "samples_per_second"])
        self.assertEqual(list(scalars["loss/train"]), [20, 40, 60, 70])
        self.assertEqual(list(scalars["accuracy/test"]), [30, 50, 60, 70])
        with open(self.path("m.jsonl")) as file:
            for line in map(json.loads, file):
                if line["event"] not in ("step", "evaluation"):
                    continue
                of = "train" if line["event"] == "step" else "test"
                self.assertAlmostEqual(scalars["loss/" + of][line["step"]], line["loss"], places=5)
                self.assertAlmostEqual(scalars["accuracy/" + of][line["step"]], line["metrics"]["accuracy"], places=5)
                if of == "train":
                    self.assertAlmostEqual(scalars["gradient_norm"][line["step"]], line["gradient_norm"], places=5)
                    self.assertAlmostEqual(scalars["learning_rate"][line["step"]], line["learning_rate"], places=6)

    def test_a_run_that_resumes_adds_a_file(self):
        self.run_to(20, "--tensorboard=t", "--checkpoint=c")
        before = self.files()
        self.call("launch", "--", "train", "--mock-data", "--batch=8", "--threads=1", "--steps=40", "--dp=2",
                  "--epochs=10", "--checkpoint=c", "--resume=auto", "--tensorboard=t", MLP)
        (added,) = set(self.files()) - set(before)  # of two processes
        _, start, *events = self.events(added)
        self.assertEqual(start[2], 21)
        self.assertEqual(list(self.scalars(events)["loss/train"]), [30, 40])

    def test_refusals(self):
        with open(self.path("file"), "w"):
            pass
        self.assertIn("flag --tensorboard: file/t: file is not a folder",
                      self.run_to(1, "--tensorboard=file/t", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
