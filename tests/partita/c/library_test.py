"""libpartita.so as a program outside the tree links it: in C, with its header alone, and nothing else to be seen."""

import array
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

LIBRARY = os.path.abspath("partita/c/libpartita.so.0")
HEADER = os.path.abspath("partita/c/partita.h")
EXAMPLE = os.path.abspath("tools/examples/train_and_predict.c")
MPI_EXAMPLE = os.path.abspath("tools/examples/mpi_training.c")
GRAPH = os.path.abspath("tools/models/examples/mlp.pbtxt")
TRAINER = os.path.abspath("tools/trainer")


class LibraryTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for path, name in ((LIBRARY, "libpartita.so"), (HEADER, "partita.h")):
            os.symlink(path, os.path.join(folder.name, name))

    def compiled(self, source, *flags, compiler="gcc"):
        program = os.path.join(self.folder, "program")
        subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror", "-I" + self.folder, source, "-o", program,
                        "-L" + self.folder, "-lpartita", "-Wl,--allow-shlib-undefined", "-Wl,-rpath," + os.path.dirname(LIBRARY)], check=True)
        return program

    def test_the_example_in_c_learns_to_compare(self):
        program = self.compiled(EXAMPLE, "-std=c99", "-pedantic")
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        done = subprocess.run([program], capture_output=True, text=True, timeout=300, cwd=empty,
                              env={"HOME": empty, "OMP_WAIT_POLICY": "passive"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        *progress, answer = done.stdout.splitlines()
        losses = [float(re.match(r"loss ([0-9.]+), accuracy", line).group(1)) for line in progress]
        self.assertEqual(len(losses), 5, done.stdout)
        self.assertLess(losses[-1], losses[0])
        self.assertRegex(answer, r"of -?[0-9.]+ and -?[0-9.]+ the (first|second) is larger")
        self.assertEqual(os.listdir(empty), [], "nothing is written")

    @unittest.skipIf(shutil.which("mpicc") is None, "there is no mpicc (libopenmpi-dev)")
    def test_an_mpi_program_trains_to_the_bits_of_threads(self):
        # MPI_Allreduce adds for pairs of ranks alone, whose order makes no difference.
        self.train_by_threads_and_mpi({"dp": 2, "mp": 2})
        self.assertEqual(self.tensors_of("mpi"), self.tensors_of("threads"))

    @unittest.skipIf(shutil.which("mpicc") is None, "there is no mpicc (libopenmpi-dev)")
    def test_the_order_of_mpi_s_sums_is_its_own(self):
        self.train_by_threads_and_mpi({"dp": 4, "check-replicas": 1})  # all ranks have the same bits
        (header, by_mpi), (expected_header, by_threads) = self.tensors_of("mpi"), self.tensors_of("threads")
        self.assertEqual(header, expected_header)
        for name, tensor in header.items():
            if tensor["dtype"] != "F32":
                continue
            begin, end = tensor["data_offsets"]
            for value, expected in zip(array.array("f", by_mpi[begin:end]), array.array("f", by_threads[begin:end])):
                self.assertAlmostEqual(value, expected, delta=1e-5, msg=name)

    def train_by_threads_and_mpi(self, split):
        program = self.compiled(MPI_EXAMPLE, "-std=c11", compiler="mpicc")
        settings = {**split, "threads": 1, "mock-data": True, "steps": 4, "batch": 24}
        flags = [f"--{name}={str(value).lower()}" for name, value in settings.items()]
        trained = subprocess.run([TRAINER, "train", "--deterministic", *flags, "--save=" + self.path("threads"), GRAPH],
                                 capture_output=True, text=True)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", program, GRAPH,
                               json.dumps(settings), self.path("mpi")], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (0, "4 steps on 4 ranks\n"), done.stderr)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tensors_of(self, name):
        """The bytes of a .safetensors file behind its header, which says by which run it was written."""
        with open(self.path(name), "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
            header.pop("__metadata__")
            return header, file.read()

    def test_the_examples_fit_a_page(self):
        for example, lines in ((EXAMPLE, 95), (MPI_EXAMPLE, 120)):
            with open(example) as file:
                self.assertLessEqual(len(file.readlines()), lines)

    def test_the_header_is_of_cpp_as_well(self):
        source = os.path.join(self.folder, "program.cc")
        with open(source, "w") as file:
            file.write('#include <partita.h>\n#include <partita.h>\n'
                       'int main() { return partita_version()[0] == \'0\' + PARTITA_VERSION_MAJOR ? 0 : 1; }\n')
        self.assertEqual(subprocess.run([self.compiled(source, "-std=c++11", "-pedantic", "-xc++")]).returncode, 0)

    def test_nothing_but_the_interface_is_exported(self):
        listed = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=posix", LIBRARY], check=True,
                                capture_output=True, text=True).stdout
        symbols = {line.split()[0] for line in listed.splitlines()}
        with open("partita/c/exports.map") as file:
            named = set(re.findall(r"^  (\w+);$", file.read(), re.MULTILINE))
        self.assertGreater(len(named), 30)
        self.assertEqual({symbol.split("@")[0] for symbol in symbols if "@" in symbol}, named)
        others = {symbol for symbol in symbols if "@" not in symbol}
        # The linker leaves what the C++ library has as well: weak, and equal.
        self.assertEqual({symbol for symbol in others if not re.match("_ZNK?St", symbol)}, {"PARTITA_0.2.0"})


if __name__ == "__main__":
    unittest.main()
