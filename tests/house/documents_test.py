"""What comments and documents cite is there; and a rule that is broken is told."""

import os
import tempfile
import unittest

from tests.house import documents, repository

DESIGN = "# Design\n\n## 1 The way\n\n### 1.2 A part\n\n## 5 Details\n\n### 5.10 The last\n"
PAPERS = "# Papers\n\nA. Author: *A Work*, 2018, arXiv 1234.56789.\n"
DERIVATION = """# Derivation

## 4 Examples

### 4.1 One
[one.txt](../tests/graph/derivation/one.txt)
```
%a = relu(%x)
```
"""


class Checkout(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = documents.Tree(repository.root())

    def test_cites_what_is_there(self):
        cited = sum(text.count("docs/") for path, text in self.tree.texts.items() if path.endswith((".h", ".cc")))
        self.assertGreater(cited, 50)
        self.assertIn("## 0.", self.tree.texts["CHANGELOG.md"])
        self.assertIn("kToolVersion[] =", self.tree.texts["run/host/version.h"])
        for rule in documents.RULES:
            with self.subTest(rule.__name__):
                self.assertEqual(list(rule(self.tree)), [])


class PlantedErrors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("docs/design.md", DESIGN)
        self.write("docs/papers.md", PAPERS)
        self.write("docs/derivation.md", DERIVATION)
        self.write("tests/graph/derivation/one.txt", "%x = input()\n%a = relu(%x)\n")

    def write(self, path, text):
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)

    def told(self, path, text):
        """What all rules say of a checkout with this file."""
        self.write(path, text)
        tree = documents.Tree(self.root)
        return [sentence for rule in documents.RULES for sentence in rule(tree)]

    def test_nothing_wrong(self):
        self.assertEqual(self.told("a.h", "// docs/design.md 5.10 says, and docs/design.md 1 and 1.2; 7 others\n"), [])

    def test_missing_section(self):
        told = self.told("a.h", "int a;\n// docs/design.md 5.1\n")
        self.assertEqual(told, ["a.h:2: docs/design.md has no section 5.1"])

    def test_second_section_of_a_list(self):
        told = self.told("a.cc", "// (docs/design.md 1.2 and 1.3)\n")
        self.assertEqual(told, ["a.cc:1: docs/design.md has no section 1.3"])

    def test_section_on_the_next_line_of_a_comment(self):
        told = self.told("a.h", "  // see docs/design.md\n  // section 9.\n")
        self.assertEqual(told, ["a.h:1: docs/design.md has no section 9"])

    def test_missing_document(self):
        self.assertEqual(self.told("a.py", "# design.md 5.10\n"), ["a.py:1: design.md is not there"])
        self.assertEqual(self.told("a.py", "# docs/none.md\n")[0], "a.py:1: docs/none.md is not there")

    def test_missing_file_in_a_comment(self):
        self.assertEqual(self.told("a.h", "// See graph/none.h.\n"), ["a.h:1: graph/none.h is not there"])
        self.assertEqual(self.told("a.h", '#include "graph/none.h"\n'), [])

    def test_missing_file_in_a_document(self):
        self.assertEqual(self.told("ops/README.md", "`ops/none.cc`\n"), ["ops/README.md:1: ops/none.cc is not there"])

    def test_link_that_leads_nowhere(self):
        told = self.told("docs/README.md", "[a](none.txt) [b](design.md) [c](https://example.org/none)\n")
        self.assertEqual(told, ["docs/README.md:1: the link none.txt leads nowhere"])

    def test_link_to_a_heading(self):
        self.assertEqual(self.told("a.md", "[a](docs/design.md#12-a-part)\n"), [])
        told = self.told("a.md", "[a](docs/design.md#12-no-part)\n")
        self.assertEqual(told, ["a.md:1: docs/design.md has no heading #12-no-part"])

    def test_long_readme(self):
        self.assertEqual(self.told("ops/README.md", "# ops\n\n" + "word\n" * 15), [])
        told = self.told("ops/README.md", "# ops\n\n" + "word\n" * 14 + "x" * 121 + "\n")
        self.assertEqual(told, ["ops/README.md: ops: has 16 lines of 120 columns, at most 15 are allowed"])

    def test_long_main_readme(self):
        self.assertEqual(self.told("README.md", "word\n" * 100), [])
        self.assertEqual(len(self.told("README.md", "word\n" * 101)), 1)

    def test_version_without_changes(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## 0.2.0\n\n## 0.1.0\n")
        version = 'inline constexpr char kToolVersion[] = "0.{}.0";\n'
        self.assertEqual(self.told("run/host/version.h", version.format(2)), [])
        self.assertEqual(self.told("run/host/version.h", version.format(3)),
                         ["CHANGELOG.md: the newest section is 0.2.0; kToolVersion is 0.3.0"])

    def test_page_without_a_place_in_the_site(self):
        self.write("tools/docs.yml", "nav:\n  - Design: design.md\n  - Derivation: derivation.md\n")
        self.assertEqual(self.told("README.md", "# A\n"), ["tools/docs.yml: lacks docs/papers.md"])

    def test_unknown_paper(self):
        self.assertEqual(self.told("a.h", "// Author et al. 2018; arXiv 1234.56789\n"), [])
        told = self.told("a.h", "// Nobody and\n// Noone (2018)\n")
        self.assertEqual(told, ["a.h:1: docs/papers.md does not know Nobody 2018"])
        told = self.told("a.h", "// 9999.00001\n")
        self.assertEqual(told, ["a.h:1: docs/papers.md does not know arXiv 9999.00001"])

    def test_false_quote(self):
        told = self.told("docs/derivation.md", DERIVATION.replace("relu", "tanh"))
        self.assertEqual(told, ["docs/derivation.md: 4.1 One: tests/graph/derivation/one.txt has no line %a = tanh(%x)"])

    def test_example_without_a_golden_file(self):
        told = self.told("docs/derivation.md", DERIVATION.replace("(../tests", "(../test"))
        self.assertIn("docs/derivation.md: 4.1 One: quotes no golden file", told)


if __name__ == "__main__":
    unittest.main()
