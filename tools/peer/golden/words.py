"""Trains a small model of words in f64 with PyTorch and writes the numbers beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/words.py > tests/gradients/pytorch_words.h

A table with a padding row, a product, a smoothed loss over the places that are no padding; the table's gradients are
dense or sparse. What it begins with and reads are the formulas that the header repeats."""
import torch
from torch.nn import functional

STEPS, SAMPLES, PLACES, WORDS, CHANNELS = 5, 3, 4, 6, 3
SMOOTHING = 0.1
TINY = 1e-16  # PyTorch's SparseAdam adds its epsilon elsewhere than Adam

# Our name and attributes, the rate, PyTorch's optimizer of the table and of the rest, whether its gradient is sparse.
CASES = [
    ("sgd", {}, 0.5, torch.optim.SGD, torch.optim.SGD, {}, False),
    ("adagrad", {"initial_accumulator": 0.1}, 0.1, torch.optim.Adagrad, torch.optim.Adagrad,
     {"initial_accumulator_value": 0.1}, False),
    ("sgd", {}, 0.5, torch.optim.SGD, torch.optim.SGD, {}, True),
    ("adagrad", {"initial_accumulator": 0.1}, 0.1, torch.optim.Adagrad, torch.optim.Adagrad,
     {"initial_accumulator_value": 0.1}, True),
    ("adam", {"epsilon": TINY}, 0.05, torch.optim.SparseAdam, torch.optim.Adam, {"eps": TINY}, True),
]


def tensor(rows, columns, formula):
    return torch.tensor([[formula(i, j) for j in range(columns)] for i in range(rows)], dtype=torch.float64)


def follow(rate, of_table, of_rest, said, sparse):
    """The losses of all steps, the table and the product's weights behind them."""
    table = tensor(WORDS, CHANNELS, lambda i, j: 0 if i == 0 else ((7 * i + 3 * j) % 11 - 5) / 8).requires_grad_()
    weights = tensor(CHANNELS, WORDS, lambda i, j: ((5 * i + 2 * j) % 13 - 6) / 16).requires_grad_()
    optimizers = [of_table([table], lr=rate, **said), of_rest([weights], lr=rate, **said)]
    losses = []
    for step in range(STEPS):
        words = tensor(SAMPLES, PLACES, lambda n, t: (3 * step + 5 * n + 7 * t * t) % WORDS).long()
        following = tensor(SAMPLES, PLACES, lambda n, t: (2 * step + 3 * n + 5 * t) % WORDS).long()
        real = tensor(SAMPLES, PLACES, lambda n, t: 1 if t < 1 + (step + 2 * n) % PLACES else 0)
        logits = functional.embedding(words, table, padding_idx=0, sparse=sparse) @ weights
        each = functional.cross_entropy(logits.reshape(-1, WORDS), following.reshape(-1), label_smoothing=SMOOTHING,
                                        reduction="none")
        loss = (each * real.reshape(-1)).sum() / real.sum()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses, table.flatten().tolist(), weights.flatten().tolist()


def numbers(values):
    rows = [", ".join(repr(each) for each in values[i:i + 5]) for i in range(0, len(values), 5)]
    return "{" + ",\n        ".join(rows) + "}"


def main():
    version = torch.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/golden/words.py with PyTorch {version}: losses of {STEPS} steps in f64, and what was trained behind them.
#ifndef PARTITA_TESTS_GRADIENTS_PYTORCH_WORDS_H_
#define PARTITA_TESTS_GRADIENTS_PYTORCH_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/value/attributes.h"

namespace partita::pytorch {{

inline constexpr int64_t kSteps = {STEPS}, kSamples = {SAMPLES}, kPlaces = {PLACES}, kWords = {WORDS};
inline constexpr int64_t kChannels = {CHANNELS};
inline constexpr double kSmoothing = {SMOOTHING};

inline double Table(int64_t i, int64_t j) {{ return i == 0 ? 0 : static_cast<double>((7 * i + 3 * j) % 11 - 5) / 8; }}
inline double Weight(int64_t i, int64_t j) {{ return static_cast<double>((5 * i + 2 * j) % 13 - 6) / 16; }}
inline int64_t Word(int64_t step, int64_t n, int64_t t) {{ return (3 * step + 5 * n + 7 * t * t) % kWords; }}
inline int64_t Following(int64_t step, int64_t n, int64_t t) {{ return (2 * step + 3 * n + 5 * t) % kWords; }}
inline bool IsReal(int64_t step, int64_t n, int64_t t) {{ return t < 1 + (step + 2 * n) % kPlaces; }}

struct Trained {{
  std::string optimizer;
  Attributes said;
  double rate;
  bool by_rows;
  std::vector<double> losses, table, weights;
}};

inline std::vector<Trained> AllTrained() {{
  return {{""")
    for name, ours, rate, of_table, of_rest, said, sparse in CASES:
        attributes = ", ".join(f'{{"{key}", {each!r}}}' for key, each in ours.items())
        shown = ",\n       ".join(numbers(each) for each in follow(rate, of_table, of_rest, said, sparse))
        print(f'      {{"{name}",\n       {{{attributes}}},\n       {rate},\n       {str(sparse).lower()},\n       {shown}}},')
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_GRADIENTS_PYTORCH_WORDS_H_""")


if __name__ == "__main__":
    main()
