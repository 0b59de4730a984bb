"""Every kernel runs on fibers: its file is compiled for them, and they fail over one that nothing launches."""

import os
import re
import tempfile
import unittest

from tests.house import repository

FIBERS = "tests/ops/cuda/fibers"
LOOPS = "ops/cuda/loops/"  # all .cu files there and below are compiled for fibers, with the headers that they include

# Kernels of the program that fibers cannot run, and why.
EXCEPTIONS = {"runtime/device/cuda/kernels/delay_kernel.cu": "reads the GPU's clock, by PTX; touches no memory"}


def with_kernels(base):
    """The program's sources that define kernels."""
    return [path for path in repository.files(base)
            if path.endswith(repository.SOURCE) and not path.startswith("tests/")
            and re.search(r"^\s*(template.*)?__global__ ", repository.read(base, path), re.MULTILINE)]


def not_on_fibers(base):
    compiled = repository.read(base, os.path.join(FIBERS, "BUILD"))
    names = {path: os.path.splitext(os.path.basename(path))[0] for path in with_kernels(base)}
    return [path for path, name in names.items() if not path.startswith(LOOPS) and path not in EXCEPTIONS
            and f'"{name}": "//{os.path.dirname(path)}"' not in compiled]


class Kernels(unittest.TestCase):
    def test_every_kernel_is_compiled_for_fibers(self):
        self.assertEqual(not_on_fibers(repository.root()), [])

    def test_they_are_found(self):
        found = with_kernels(repository.root())
        self.assertIn("ops/cuda/loops/loops.h", found)
        self.assertEqual([path for path in EXCEPTIONS if path not in found], [])

    def test_one_more_is_found(self):
        kernel = "template <typename T>\n__global__ void __launch_bounds__(64) Kernel(T* x) {}\n"
        texts = {"a/b/known.cu": kernel, "a/b/new.cu": kernel, "a/b/new.h": "// The __global__ function.\n",
                 "ops/cuda/loops/loop.h": kernel, "tests/planted.cu": kernel,
                 "tests/ops/cuda/fibers/BUILD": '_OF_RUNTIME = {"known": "//a/b"}\n'}
        with tempfile.TemporaryDirectory() as folder:
            for path, text in texts.items():
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(not_on_fibers(folder), ["a/b/new.cu"])


if __name__ == "__main__":
    unittest.main()
