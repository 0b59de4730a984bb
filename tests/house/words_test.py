"""Documents, headers and help texts are in plain English; and a phrase of the list is found."""

import unittest

from tests.house import repository, words

# Help texts are checked in these programs; comments in all headers.
HELP = ("proto/flag.proto", "proto/run.proto", "tests/fuzz/fuzz.proto", "tools/benchmarks/benchmark.proto",
        "tools/models/build_model.proto", "tools/peer/step_values.proto", "tools/service/service_spec.proto")


def checked(paths):
    return [path for path in paths if path in HELP or path.endswith((".h", ".md"))]


class Words(unittest.TestCase):
    maxDiff = None

    def test_plain_english(self):
        base = repository.root()
        paths = checked(repository.files(base))
        self.assertLessEqual({*HELP, "CONTRIBUTING.md", "partita/partita.h"}, set(paths))
        self.assertGreater(len(paths), 900)
        self.assertEqual([slip for path in paths for slip in words.slips(path, repository.read(base, path))], [])


class PlantedPhrases(unittest.TestCase):

    def told(self, path, text):
        return list(words.slips(path, text))

    def test_in_a_document(self):
        self.assertEqual(self.told("NAME.md", "Training\ngoes\non at step 3.\n"),
                         ["NAME.md:2: 'goes on at'; write: resume, continue"])

    def test_in_a_comment(self):
        self.assertEqual(self.told("a.h", "int a;  // nobody reads\nint nobody;\n"),
                         ["a.h:1: 'nobody'; write: no caller, any thread: name who"])

    def test_over_two_lines_of_a_comment(self):
        self.assertEqual(self.told("a.h", "// Images are held up\n//   against the limit.\n"),
                         ["a.h:1: 'held up against'; write: compare with"])

    def test_in_a_help_text(self):
        text = 'choices: "nobody"\nhelp: "shift "\n  "by so "\n  "many pixels"\n'
        self.assertEqual(self.told("a.proto", text), ["a.proto:3: 'so many'; write: every N, N, at most N"])

    def test_each_phrase(self):
        for slip in ("is reckoned", "gone on with", "the how manyth call", "is told", "tells of it", "Whoever waits",
                     "so often, in steps", "are the same to the bit", "holds it against", "by what they differ",
                     "left out", "hands out ids", "look for each other before they sleep", "people",
                     "ways to choose a strategy"):
            with self.subTest(slip):
                self.assertEqual(len(self.told("NAME.md", f"It {slip} here.\n")), 1)

    def test_quotations_and_code(self):
        self.assertEqual(self.told("NAME.md", 'Print "nobody" or `reckon()`.\n```\nleave out\n```\n'), [])
        self.assertEqual(self.told("a.h", '// "nobody" `reckon`\nint told;\n'), [])

    def test_other_senses(self):
        self.assertEqual(self.told("NAME.md", "What goes on the wire; to tell apart; by what is known.\n"), [])


if __name__ == "__main__":
    unittest.main()
