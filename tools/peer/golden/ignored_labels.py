"""Trains a linear classifier in f64 with PyTorch's cross_entropy, which ignores a label, and writes the numbers beside
which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/ignored_labels.py > tests/gradients/pytorch_ignored_labels.h

What it begins with and reads are the formulas that the header repeats."""
import torch
from torch.nn import functional
from words import numbers, tensor

STEPS, SAMPLES, PLACES, INPUTS, CLASSES = 3, 6, 4, 3, 5
RATE = 0.5

# The ignored label, the smoothing, the reduction.
CASES = [(-100, 0, "mean"), (-100, 0.1, "mean"), (2, 0.1, "mean"), (0, 0, "sum"), (255, 0.2, "sum")]


def label(step, row, ignored):
    """Of two rows in three; sample 4 has none but the ignored label."""
    if row % 3 == step % 3 or row // PLACES == 4:
        return ignored
    return (2 * step + 3 * row) % CLASSES


def batch(step, ignored):
    rows = SAMPLES * PLACES
    x = tensor(rows, INPUTS, lambda i, j: ((3 * step + 5 * i + 7 * j) % 17 - 8) / 4)
    return x, torch.tensor([label(step, row, ignored) for row in range(rows)])


def follow(ignored, smoothing, reduction):
    """The losses and the shares of right labels of all steps, and the weights behind them."""
    weights = tensor(INPUTS, CLASSES, lambda i, j: ((5 * i + 2 * j) % 13 - 6) / 16).requires_grad_()
    rate = RATE if reduction == "mean" else RATE / 16
    losses, right = [], []
    for step in range(STEPS):
        x, labels = batch(step, ignored)
        logits = x @ weights
        loss = functional.cross_entropy(logits, labels, ignore_index=ignored, label_smoothing=smoothing,
                                        reduction=reduction)
        losses.append(loss.item())
        counted = labels != ignored
        right.append((logits.argmax(1) == labels)[counted].double().mean().item())
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
            weights.grad = None
    return losses, right, weights.flatten().tolist()


def of_ignored_rows_alone():
    x, labels = batch(0, -100)
    logits = x.clone().requires_grad_()
    loss = functional.cross_entropy(logits, torch.full_like(labels, -100))
    loss.backward()
    return loss.item(), logits.grad.abs().max().item()


def main():
    version = torch.__version__.split("+")[0]
    loss, gradient = of_ignored_rows_alone()
    print(f"""\
// Written by tools/peer/golden/ignored_labels.py with PyTorch {version}: {STEPS} steps in f64 of a loss that ignores a label. Of a
// batch that has no other label the loss is {loss} and the largest gradient {gradient}.
#ifndef PARTITA_TESTS_GRADIENTS_PYTORCH_IGNORED_LABELS_H_
#define PARTITA_TESTS_GRADIENTS_PYTORCH_IGNORED_LABELS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita::pytorch {{

inline constexpr int64_t kSteps = {STEPS}, kSamples = {SAMPLES}, kPlaces = {PLACES}, kInputs = {INPUTS};
inline constexpr int64_t kClasses = {CLASSES};

inline double Weight(int64_t i, int64_t j) {{ return static_cast<double>((5 * i + 2 * j) % 13 - 6) / 16; }}
inline double Input(int64_t step, int64_t row, int64_t j) {{
  return static_cast<double>((3 * step + 5 * row + 7 * j) % 17 - 8) / 4;
}}
inline int64_t Label(int64_t step, int64_t row, int64_t ignored) {{
  if (row % 3 == step % 3 || row / kPlaces == 4) return ignored;
  return (2 * step + 3 * row) % kClasses;
}}

struct IgnoredLabels {{
  int64_t ignored;
  double smoothing;
  std::string reduction;
  double rate;
  std::vector<double> losses, right, weights;  // of each step; in the end
}};

inline std::vector<IgnoredLabels> AllIgnoredLabels() {{
  return {{""")
    for ignored, smoothing, reduction in CASES:
        shown = ",\n       ".join(numbers(each) for each in follow(ignored, smoothing, reduction))
        rate = RATE if reduction == "mean" else RATE / 16
        print(f'      {{{ignored},\n       {smoothing},\n       "{reduction}",\n       {rate},\n       {shown}}},')
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_GRADIENTS_PYTORCH_IGNORED_LABELS_H_""")


if __name__ == "__main__":
    main()
