"""What counting reaches on a text: shares are shares, and the perplexity is that of the words."""

import pathlib
import random
import tempfile
import unittest

from tools.peer import ngrams

SIZE = 12  # words, of which one never comes


def text(count, seed):
    generator, word, words = random.Random(seed), 0, []
    for _ in range(count):
        word = (3 * word + generator.choice((1, 2, 2, 5))) % (SIZE - 1)
        words.append(word)
    return words


class NgramsTest(unittest.TestCase):

    def test_shares_of_all_words_are_one(self):
        generator = random.Random(1)
        for length, order in ((30, 2), (4000, 4)):
            model = ngrams.Model(text(length, 1), SIZE, order)
            for _ in range(200):
                history = [generator.randrange(SIZE) for _ in range(generator.randrange(order + 1))]
                shares = [model.share(history, word) for word in range(SIZE)]
                self.assertAlmostEqual(sum(shares), 1, places=9)
                self.assertGreater(min(shares), 0)

    # Worked out by hand, with discounts of 3/4: b comes behind a, c; c behind b; a behind nothing else than c.
    def test_two_words(self):
        a, b, c = range(3)
        model = ngrams.Model([a, b, c, b, c, a, b], 3, 2)
        alone = {b: (2 - 0.75) / 4, c: (1 - 0.75) / 4, a: (1 - 0.75) / 4}
        alone = {word: share + 3 * 0.75 / 4 / 3 for word, share in alone.items()}
        self.assertAlmostEqual(model.share([], b), alone[b])
        self.assertAlmostEqual(model.share([a], b), (2 - 0.75) / 2 + 0.75 / 2 * alone[b])
        self.assertAlmostEqual(model.share([b], a), 0.75 / 2 * alone[a])
        self.assertAlmostEqual(model.share([a, c], a), (1 - 0.75) / 2 + 2 * 0.75 / 2 * alone[a])

    def test_longer_histories_tell_more(self):
        perplexities = [ngrams.Model(text(20000, 1), SIZE, order).perplexity(text(2000, 2)) for order in (1, 2)]
        # Behind a word come three others, one of them half of the time: 2^1.5.
        self.assertAlmostEqual(perplexities[1], 2**1.5, delta=0.1)
        self.assertGreater(perplexities[0], 9)

    def test_reads_words_and_ends_of_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "text.txt"
            path.write_text("a b\n\n  c\n", encoding="utf-8")
            self.assertEqual(ngrams.read(path, {"</s>": 0, "<unk>": 1, "a": 2, "b": 3}), [2, 3, 0, 1, 0])
            self.assertEqual(ngrams.read(path, {"a": 0, "b": 1, "c": 2}), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
