"""docs/reference/flags.md is what the fields of proto/run.proto say today."""

import subprocess
import unittest


class FlagTableTest(unittest.TestCase):
    maxDiff = None

    def test_document_is_what_the_fields_say(self):
        printed = subprocess.run(["tests/tools/program/table/print_flag_table"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertGreater(printed.count("\n"), 100)
        with open("docs/reference/flags.md", encoding="utf-8") as file:
            self.assertEqual(file.read(), printed, "the document is stale; run tools/docs --flags")


if __name__ == "__main__":
    unittest.main()
