"""The perplexity that counting reaches on a text: what a language model is held against.

  python3 tools/peer/ngrams.py FOLDER [--order=5]

FOLDER has the form of docs/reference/data.md 5. Modified Kneser-Ney, interpolated (S. Chen, J. Goodman:
An Empirical Study of Smoothing Techniques for Language Modeling, 1998, section 3): of n words the longest is estimated
by how often it comes, shorter ones by how many words they come behind, each with three discounts, and the shortest with
the same share of every word. A text is one sequence, as it is for an LSTM that carries.
"""

import argparse
import collections
import math
import pathlib

END_OF_LINE, UNKNOWN = "</s>", "<unk>"


def read(path, ids):
    words = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if known := [ids.get(word, ids.get(UNKNOWN)) for word in line.split()]:
            words += known
            if END_OF_LINE in ids:
                words.append(ids[END_OF_LINE])
    return words


def discounts(times):
    """By how often sequences come once, twice, ...: of those that never come, come once, twice, and more often."""
    if not all(times[k] for k in (1, 2, 3, 4)):  # of a very small text
        return [0.0, 0.75, 0.75, 0.75]
    once = times[1] / (times[1] + 2 * times[2])
    return [0.0] + [k - (k + 1) * once * times[k + 1] / times[k] for k in (1, 2, 3)]


class Order:
    """What is counted of sequences of so many words. One is a number: its words are its digits in base `size`."""

    def __init__(self, counts, size):
        self.counts, self.size = counts, size
        self.discounts = discounts(collections.Counter(counts.values()))
        self.of_history = collections.defaultdict(lambda: [0, 0.0])  # what comes behind it, and what is taken of that
        for sequence, count in counts.items():
            behind = self.of_history[sequence // size]
            behind[0] += count
            behind[1] += self.discounts[min(count, 3)]

    def share(self, history, word, shorter):
        """Of `word` behind `history`, whose share behind the shorter history is known."""
        if history not in self.of_history:
            return shorter
        everything, taken = self.of_history[history]
        count = self.counts.get(history * self.size + word, 0)
        return (count - self.discounts[min(count, 3)] + taken * shorter) / everything


class Model:

    def __init__(self, words, size, order):
        self.size, self.orders = size, []
        counts = collections.Counter(sequences(words, size, order))
        for length in range(order, 0, -1):
            self.orders.insert(0, Order(counts, size))
            # Each sequence, without its first word, comes behind one more word.
            largest = size**(length - 1)
            counts = collections.Counter(sequence % largest for sequence in counts)

    def share(self, history, word):
        """Of `word` behind the words of `history`."""
        share, number, scale = 1 / self.size, 0, 1
        for length, order in enumerate(self.orders):
            if length > len(history):
                break
            if length > 0:
                number += history[-length] * scale
                scale *= self.size
            share = order.share(number, word, share)
        return share

    def perplexity(self, words):
        longest = len(self.orders) - 1
        bits = sum(-math.log(self.share(words[max(0, i - longest):i], words[i])) for i in range(1, len(words)))
        return math.exp(bits / (len(words) - 1))


def sequences(words, size, length):
    number, largest = 0, size**length
    for i, word in enumerate(words):
        number = (number * size + word) % largest
        if i + 1 >= length:
            yield number


def perplexity_of(folder, order):
    """How many words the vocabulary has, and the perplexity of the test set."""
    known = (folder / "vocabulary.txt").read_text(encoding="utf-8").split()
    ids = {word: number for number, word in enumerate(known)}
    model = Model(read(folder / "train.txt", ids), len(known), order)
    return len(known), model.perplexity(read(folder / "test.txt", ids))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--order", type=int, default=5, help="words that are looked at, the last one included")
    options = parser.parse_args()
    _, perplexity = perplexity_of(options.folder, options.order)
    print(f"{options.order}-grams: test perplexity {perplexity:.4f}")


if __name__ == "__main__":
    main()
