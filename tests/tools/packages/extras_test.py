"""The wheel's extra for GPUs names the libraries that the GPU backend is built with, in versions that fit."""

import re
import tomllib
import unittest


class Extras(unittest.TestCase):

    def test_cuda_is_of_the_versions_that_are_built_with(self):
        with open("tools/bazel/cuda.txt") as file:
            built = dict(re.findall(r"^([\w-]+)==([\d.]+)", file.read(), re.MULTILINE))
        with open("python/pyproject.toml", "rb") as file:
            extra = tomllib.load(file)["project"]["optional-dependencies"]["cuda"]
        ranges = {}
        for requirement in extra:
            name, least, most = re.fullmatch(r"([\w-]+)>=([\d.]+),<(\d+)", requirement).groups()
            ranges[name] = least, most
        self.assertEqual(set(ranges), {"nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13"})
        for name, (least, most) in ranges.items():
            self.assertTrue(built[name].startswith(least + "."), f"{name} {built[name]}")
            self.assertEqual(int(most), int(built[name].split(".")[0]) + 1, name)


if __name__ == "__main__":
    unittest.main()
