"""Includes go one way: from folder to folder as the table says, and nowhere in a circle."""

import unittest

from tests.house import arrows, repository


def planted(file, header):
    return repository.includes_of(file, f'#include <string>\n\n#include "{header}"\n')


class Arrows(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.includes = repository.includes(repository.root())

    def test_includes_follow_the_arrows(self):
        self.assertGreater(len(self.includes), 1000)
        self.assertEqual(arrows.against_the_arrows(self.includes), [])

    def test_no_circle(self):
        self.assertEqual(arrows.circle(arrows.graph_of(self.includes)), [])
        self.assertEqual(arrows.circle({source: targets.split() for source, targets in arrows.ARROWS.items()}), [])

    def test_the_table_names_the_folders_there_are(self):
        base = repository.root()
        sources = [path for path in repository.files(base) if path.endswith(repository.SOURCE + (".proto",))]
        folders = {arrows.folder(path) for path in sources}
        self.assertEqual({f for f in folders if arrows.top(f) not in arrows.TOPS}, set(arrows.ARROWS))
        for targets in arrows.ARROWS.values():
            self.assertLessEqual(set(targets.split()), set(arrows.ARROWS))

    def test_bazel_has_the_same_table(self):
        base = repository.root()
        builds = [path for path in repository.files(base) if arrows.folder(path) + "/BUILD" == path]
        self.assertGreater(len(builds), 60)
        self.assertEqual([w for path in builds for w in arrows.written_by_hand(path, repository.read(base, path))], [])
        for folder in ("ops", "graph/ir"):
            wide = f'visibility = ["//{folder}:__subpackages__", "//tools:__subpackages__", "//tests/a:__pkg__"]'
            self.assertEqual(len(arrows.written_by_hand("graph/value/BUILD", wide)), 1)

    def test_a_wrong_include_is_found(self):
        for file, header in [
                ("graph/value/shape.h", "graph/derive/adjoint.h"),
                ("graph/derive/adjoint.cc", "graph/passes/run_passes.h"),
                ("graph/lower/lower_graph.cc", "graph/derive/partition.h"),
                ("graph/prove/verify_schedule.cc", "graph/plan/streams.h"),
                ("graph/prove/verify_schedule.cc", "graph/make_schedule.h"),
                ("graph/ir/graph.h", "ops/registry.h"),
                ("ops/forms/op_checks.cc", "ops/definitions/definitions.h"),
                ("ops/cuda/loops/loss.cu", "graph/ir/graph.h"),
                ("runtime/exec/executor.cc", "graph/make_program.h"),
                ("runtime/exec/executor.cc", "graph/derive/adjoint.h"),
                ("runtime/exec/kernel.h", "ops/host/host_kernels.h"),
                ("runtime/device/stream.h", "graph/schedule/schedule.h"),
                ("runtime/train/trainer.cc", "tools/program/flags.h"),
                ("tools/trainer.cc", "tests/testing/assert_ok.h"),
                ("a_new_folder/file.h", "runtime/base/status.h")]:
            with self.subTest(file=file, header=header):
                found = arrows.against_the_arrows(planted(file, header))
                self.assertEqual(len(found), 1)
                self.assertIn(f"{file}:3 includes {header}", found[0])

    def test_a_circle_is_found(self):
        straight = planted("tools/commands/a.h", "tools/models/b.h") + planted("tools/models/b.h", "tools/program/c.h")
        back = planted("tools/program/c.h", "tools/commands/a.h")
        self.assertEqual(arrows.circle(arrows.graph_of(straight)), [])
        self.assertEqual(arrows.circle(arrows.graph_of(straight + back)),
                         ["tools/commands", "tools/models", "tools/program", "tools/commands"])


if __name__ == "__main__":
    unittest.main()
