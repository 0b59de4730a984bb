"""What Bazel says of compilations becomes what clang reads."""

import unittest

from tools.bazel import compile_commands


def action(source, *flags):
    outputs = ["-MD", "-MF", "bazel-out/a.d", "-frandom-seed=bazel-out/a.o", "-o", "bazel-out/a.o"]
    return {"arguments": ["/usr/bin/gcc", *flags, *outputs[:4], "-c", source, *outputs[4:]]}


class CompileCommands(unittest.TestCase):

    def entries(self, *actions):
        return compile_commands.entries({"actions": list(actions)}, "/tree", "/base")

    def test_names_source_and_folder(self):
        entry, = self.entries(action("graph/a.cc", "-std=c++20", "-iquote", "."))
        self.assertEqual(entry, {"directory": "/tree", "file": "graph/a.cc",
                                 "arguments": ["/usr/bin/gcc", "-std=c++20", "-iquote", ".", "-c", "graph/a.cc"]})

    def test_omits_flags_of_gcc(self):
        entry, = self.entries(action("a.cc", "-fno-canonical-system-headers", "-Wno-free-nonheap-object", "-Wall"))
        self.assertEqual(entry["arguments"], ["/usr/bin/gcc", "-Wall", "-c", "a.cc"])

    def test_finds_external_repositories(self):
        entry, = self.entries(action("a.cc", "-isystem", "external/onednn/include"))
        self.assertIn("/base/external/onednn/include", entry["arguments"])

    def test_one_entry_for_each_source_in_order(self):
        found = self.entries(action("b.cc", "-O2"), action("a.cc"), action("b.cc", "-O0"), {"arguments": ["ar", "x.a"]})
        self.assertEqual([entry["file"] for entry in found], ["a.cc", "b.cc"])
        self.assertIn("-O2", found[1]["arguments"])


if __name__ == "__main__":
    unittest.main()
