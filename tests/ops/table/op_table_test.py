"""docs/reference/graph-ops.md is what the ops' definitions say today."""

import subprocess
import unittest


class OpTableTest(unittest.TestCase):
    maxDiff = None

    def test_document_is_what_the_definitions_say(self):
        printed = subprocess.run(["tests/ops/table/print_op_table"], capture_output=True, text=True, check=True).stdout
        self.assertGreater(printed.count("\n"), 40)
        with open("docs/reference/graph-ops.md", encoding="utf-8") as file:
            self.assertEqual(file.read(), printed, "the document is stale; run tools/docs --ops")


if __name__ == "__main__":
    unittest.main()
