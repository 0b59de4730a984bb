"""The example learns what it says it learns, fits a page, and its one header needs nothing but the standard library."""

import re
import subprocess
import unittest


class ExampleTest(unittest.TestCase):

    def test_it_learns_to_compare(self):
        done = subprocess.run(["tools/examples/train_and_predict"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        *progress, answer = done.stdout.splitlines()
        losses = [float(re.match(r"loss ([0-9.]+), accuracy", line).group(1)) for line in progress]
        self.assertEqual(len(losses), 5)
        self.assertLess(losses[-1], losses[0])
        first, second, said = re.match(r"of (-?[0-9.]+) and (-?[0-9.]+) the (first|second) is larger", answer).groups()
        if abs(float(first) - float(second)) > 0.1:
            self.assertEqual(said, "second" if float(second) > float(first) else "first")

    def test_it_fits_a_page(self):
        with open("tools/examples/train_and_predict.cc") as file:
            self.assertLessEqual(len(file.readlines()), 60)

    def test_the_headers_need_the_standard_library_alone(self):
        for header, others in (("partita/partita.h", {'"partita/values.h"'}), ("partita/values.h", set())):
            with open(header) as file:
                includes = set(re.findall(r"#include (.*)", file.read()))
            self.assertGreater(len(includes), 5)
            for include in includes - others:
                self.assertRegex(include, r"^<[a-z_]+>$")


if __name__ == "__main__":
    unittest.main()
