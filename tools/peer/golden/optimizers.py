"""Follows PyTorch's optimizers for 50 steps in f64 and writes the numbers beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/optimizers.py > tests/ops/host/pytorch_optimizers.h

Gradients are those of a slope and a push that differs from step to step, multiplied by min(1, largest norm / norm)."""
import torch

STEPS = 50
SHOWN = (1, 10, 50)
RATE = 0.05
MAX_NORM = 1.5
FIRST = (1.0, -2.0, 0.25)
SLOPES = (0.5, 2.0, 0.125)

# Our name and words, PyTorch's.
CASES = [
    ("sgd", {"weight_decay": 0.1}, torch.optim.SGD, {"weight_decay": 0.1}),
    ("sgd", {"momentum": 0.9, "weight_decay": 0.01}, torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    ("sgd", {"momentum": 0.8, "weight_decay": 0.1, "nesterov": True}, torch.optim.SGD,
     {"momentum": 0.8, "weight_decay": 0.1, "nesterov": True}),
    ("adam", {}, torch.optim.Adam, {}),
    ("adam", {"beta1": 0.8, "beta2": 0.99, "epsilon": 0.01, "weight_decay": 0.1}, torch.optim.Adam,
     {"betas": (0.8, 0.99), "eps": 0.01, "weight_decay": 0.1}),
    ("adamw", {}, torch.optim.AdamW, {}),
    ("adamw", {"beta1": 0.8, "beta2": 0.99, "epsilon": 0.01, "weight_decay": 0.2}, torch.optim.AdamW,
     {"betas": (0.8, 0.99), "eps": 0.01, "weight_decay": 0.2}),
    ("adagrad", {}, torch.optim.Adagrad, {}),
    ("adagrad", {"initial_accumulator": 0.1, "epsilon": 0.01, "weight_decay": 0.1}, torch.optim.Adagrad,
     {"initial_accumulator_value": 0.1, "eps": 0.01, "weight_decay": 0.1}),
    ("rmsprop_torch", {}, torch.optim.RMSprop, {}),
    ("rmsprop_torch", {"alpha": 0.9, "epsilon": 0.1, "momentum": 0.9, "weight_decay": 0.1}, torch.optim.RMSprop,
     {"alpha": 0.9, "eps": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("rmsprop_torch", {"alpha": 0.9, "epsilon": 0.1, "momentum": 0.5, "weight_decay": 0.01, "centered": True},
     torch.optim.RMSprop, {"alpha": 0.9, "eps": 0.1, "momentum": 0.5, "weight_decay": 0.01, "centered": True}),
]


def follow(make, said):
    """The parameter after each of the steps that are shown."""
    w = torch.tensor(FIRST, dtype=torch.float64, requires_grad=True)
    optimizer = make([w], lr=RATE, **said)
    shown = []
    for step in range(1, STEPS + 1):
        push = torch.tensor([((7 * step + 3 * i) % 11 - 5) / 4 for i in range(len(FIRST))], dtype=torch.float64)
        gradient = torch.tensor(SLOPES, dtype=torch.float64) * w.detach() + push
        w.grad = gradient * min(1.0, MAX_NORM / gradient.square().sum().sqrt().item())
        optimizer.step()
        if step in SHOWN:
            shown.append(w.tolist())
    return shown


def value(said):
    return str(said).lower() if isinstance(said, bool) else repr(float(said))


def numbers(values):
    return "{" + ", ".join(repr(each) for each in values) + "}"


def main():
    version = torch.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/golden/optimizers.py with PyTorch {version}: a parameter in f64 after some of {STEPS} steps.
#ifndef PARTITA_TESTS_OPS_HOST_PYTORCH_OPTIMIZERS_H_
#define PARTITA_TESTS_OPS_HOST_PYTORCH_OPTIMIZERS_H_

#include <array>
#include <string>
#include <vector>

#include "graph/value/attributes.h"

namespace partita::pytorch {{

inline constexpr double kRate = {RATE}, kMaxNorm = {MAX_NORM};
inline constexpr std::array<int, {len(SHOWN)}> kShown = {numbers(SHOWN)};  // steps, from 1

using Numbers = std::vector<double>;
inline const Numbers kFirst = {numbers(FIRST)};
inline const Numbers kSlopes = {numbers(SLOPES)};

struct Followed {{
  std::string optimizer;
  Attributes said;
  std::vector<Numbers> w;  // after each of kShown
}};

inline std::vector<Followed> AllFollowed() {{
  return {{""")
    for name, ours, make, theirs in CASES:
        said = ", ".join(f'{{"{key}", {value(each)}}}' for key, each in ours.items())
        rows = ",\n        ".join(numbers(row) for row in follow(make, theirs))
        print(f'      {{"{name}",\n       {{{said}}},\n       {{{rows}}}}},')
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_HOST_PYTORCH_OPTIMIZERS_H_""")


if __name__ == "__main__":
    main()
