"""What a user does with a GPU, on an emulated one: captured steps or not, several GPUs, checkpoints, predictions."""

import json
import os
import unittest

from tests.emulated_gpu.emulated_case import EmulatedCase
from tests.tools.commands.array_models import attention
from tests.tools.commands.trainer_case import LENET, MLP, example


class RunTest(EmulatedCase):

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def saved(self, *flags, name="saved.safetensors", command="train", **variables):
        """What a training of lenet5 ends with."""
        self.on_gpu(command, "--batch=8", "--steps=4", f"--save={name}", *flags, LENET, **variables)
        return self.read(name)

    def test_the_same_bits_captured_or_not_in_any_order(self):
        for flags in ([], ["--dp=2"], [f"--strategy={example('lenet5_grid.pbtxt')}"]):
            with self.subTest(flags=flags):
                expected = self.saved(*flags)
                self.assertEqual(self.saved("--launch-each", *flags), expected)
                for seed in (2, 3):
                    self.assertEqual(self.saved(*flags, SEED=seed), expected)

    def test_processes_over_nccl(self):
        """A GPU for each rank; they end where ranks of one process that share a GPU end."""
        for flags in (["--dp=2"], ["--dp=2", "--mp=2"], [f"--strategy={example('lenet5_pipeline.pbtxt')}"]):
            with self.subTest(flags=flags):
                own = self.saved(*flags, name="own")
                shared = self.saved(*flags, name="shared", command="launch", GPUS=4)
                self.assertEqual(shared, own)

    def test_attention_of_products_equals_one_gpu(self):
        for shared in (False, True):
            with open(self.path("attention.pbtxt"), "w", encoding="utf-8") as file:
                file.write(attention(8, shared=shared))
            for flags in ([], ["--dp=2", "--mp=2"]):
                for precision in ("f32", "bf16"):
                    with self.subTest(shared=shared, flags=flags, precision=precision):
                        self.on_gpu("verify", "--precision=" + precision, *flags, "attention.pbtxt", GPUS=4)

    def test_another_gpu_than_the_first(self):
        expected = self.saved("--dp=2")
        self.assertEqual(self.saved("--dp=2", "--gpu=2", GPUS=3), expected)
        done = self.on_gpu("train", "--gpu=3", LENET, GPUS=3, code=2)
        self.assertIn("there is no device cuda:3; this machine has cuda:0 to cuda:2", done.stderr)

    def test_the_gpu_of_the_local_rank(self):
        """As each launcher says it. A process that sees one GPU was given that one."""
        launchers = [{"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "3"},
                     {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "3"},
                     {"PMI_RANK": "0", "PMI_SIZE": "1", "MPI_LOCALRANKID": "3"},
                     {"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_LOCALID": "3"}]
        for variables in launchers:
            with self.subTest(variables=variables):
                done = self.on_gpu("train", "--steps=1", MLP, GPUS=3, code=2, launcher=variables)
                self.assertIn("there is no device cuda:3; this machine has cuda:0 to cuda:2", done.stderr)
                for number in (1, 4):
                    self.on_gpu("train", "--steps=1", MLP, GPUS=number, launcher=variables)

    def test_an_illegal_address_ends_the_process(self):
        """With the code of a lost device, whenever it comes: the GPU is of no use to the process any more."""
        for launch in (1, 40, 400):
            with self.subTest(launch=launch):
                done = self.on_gpu("train", "--batch=8", "--steps=100", "--dp=2", LENET, FAULT_AT=launch, code=138)
                self.assertIn("cuda:0", done.stderr)

    def test_two_processes_cannot_share_a_gpu(self):
        done = self.on_gpu("launch", "--batch=8", "--steps=1", "--dp=2", "--gpu=0", LENET, code=3)
        self.assertIn("NCCL needs one for each, or a distinct NCCL_HOSTID", done.stderr)

    def test_goes_on_to_the_same_bits(self):
        graph = self.changed(MLP, "(?m)^learning_rate.*$", 'learning_rate { schedule: "constant" base: 0.01 }')
        flags = ["--batch=8", "--dp=2", graph]
        self.on_gpu("train", "--steps=6", "--save=whole", *flags)
        self.on_gpu("train", "--steps=3", "--checkpoint=folder", *flags)
        self.on_gpu("train", "--steps=6", "--checkpoint=folder", "--resume=auto", "--save=resumed", *flags)
        self.assertEqual(self.read("resumed"), self.read("whole"))

    def test_what_it_has_trained_is_evaluated_and_predicted(self):
        self.on_gpu("train", "--batch=8", "--steps=4", "--save=trained", MLP)
        of_devices = []
        for device in ("cuda", "host"):
            flags = ["--mock-data", "--load=trained", f"--device={device}", MLP]
            environment = {"XDG_CACHE_HOME": self.path("cache"), "PATH": "/usr/bin:/bin"}
            report = json.loads(self.call("evaluate", "--format=json", *flags, environment=environment).stdout)
            self.call("predict", "--output=p.csv", *flags, environment=environment)
            lines = self.read("p.csv").decode().splitlines()[1:]
            of_devices.append((report["test_loss"], [float(word) for line in lines for word in line.split(",")]))
        (loss, numbers), (loss_of_host, numbers_of_host) = of_devices
        self.assertAlmostEqual(loss, loss_of_host, places=5)
        self.assertEqual(len(numbers), len(numbers_of_host))
        for mine, other in zip(numbers, numbers_of_host):
            self.assertAlmostEqual(mine, other, places=4)

    def test_decoding_writes_the_hosts_lines(self):
        """Beam search by a trained network of sentences, on one rank and on two."""
        os.mkdir(self.path("pairs"))
        words = ["<pad>", "<unk>", "<s>", "</s>", *"abcdefgh"]
        sentences = [" ".join(words[4 + (i * k) % 8] for k in range(1 + i % 5)) for i in range(32)]
        for name, lines in (("vocabulary", words), ("train.source", sentences), ("train.target", sentences),
                            ("test.source", sentences[:9]), ("test.target", sentences[:9])):
            with open(self.path(f"pairs/{name}.txt"), "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))
        graph = self.build("gnmt", "--batch=8", f"--vocabulary={len(words)}", "--hidden=8", "--source-length=8",
                           "--target-length=8", "--buckets=2", "--steps=8")
        self.on_gpu("train", "--steps=8", "--data=pairs", "--save=trained", graph, mock=False)
        lines = {}
        for device, flags in (("host", []), ("cuda", []), ("cuda", ["--dp=2"])):
            name = device + "".join(flags)
            environment = {"XDG_CACHE_HOME": self.path("cache"), "PATH": "/usr/bin:/bin"}
            self.call("decode", "--data=pairs", "--load=trained", f"--device={device}", "--beam=3", "--most-words=6",
                      f"--output={name}", *flags, graph, environment=environment)
            lines[name] = self.read(name)
        self.assertEqual(lines["cuda"].count(b"\n"), 9)
        self.assertEqual(lines["cuda"], lines["host"])
        self.assertEqual(lines["cuda--dp=2"], lines["host"])

    def test_the_timeline_is_taken_by_events(self):
        self.on_gpu("train", "--batch=8", "--steps=3", "--trace=trace.json", MLP)
        events = json.loads(self.read("trace.json"))["traceEvents"]
        self.assertTrue(any("dense1" in event.get("name", "") for event in events))


if __name__ == "__main__":
    unittest.main()
