"""Both verdicts on an accuracy: of the range of the other framework's seeds, and of the widened one."""

import unittest

from tools.peer.accuracy_range import verdict


class AccuracyRangeTest(unittest.TestCase):

    def test_within(self):
        for mine in (0.5, 0.55, 0.6):
            self.assertEqual(verdict([mine], [0.5, 0.6, 0.55]),
                             (f"{mine:.2%} is in the range of 3 seeds of PyTorch, 50.00% to 60.00%", True))

    def test_of_several_the_median_counts(self):
        text, passes = verdict([0.9, 0.1, 0.58], [0.5, 0.6])
        self.assertTrue(passes)
        self.assertEqual(text, "58.00%, the median of 3 seeds, is in the range of 2 seeds of PyTorch, 50.00% to 60.00%")
        self.assertFalse(verdict([0.9, 0.1, 0.85], [0.5, 0.6])[1])

    def test_beside(self):
        text, passes = verdict([0.42], [0.5, 0.6])
        self.assertTrue(passes)
        self.assertEqual(text, "42.00% is below the range of 2 seeds of PyTorch, 50.00% to 60.00%, and in that range "
                               "widened by its width, 40.00% to 70.00%")

    def test_outside(self):
        text, passes = verdict([0.71], [0.5, 0.6])
        self.assertFalse(passes)
        self.assertIn("is above the range of 2 seeds of PyTorch, 50.00% to 60.00%, and NOT in that range widened", text)


if __name__ == "__main__":
    unittest.main()
