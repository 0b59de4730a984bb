"""Runs attention with a normalised scorer in PyTorch, in f64, and writes the numbers beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/attention.py > tests/ops/host/pytorch_attention.h

Every unit of every score lies in memory here, as in PyTorch's own models; places behind a sequence's end are masked."""
import torch
from lstm import drawn, numbers

SAMPLES, QUERIES, PLACES, UNITS, CHANNELS = 2, 2, 3, 3, 2
MASKED = -65504.0

# Lengths of the sequences.
CASES = [None, (3, 1), (2, 3)]


def attend(of, lengths):
    units = torch.tanh(of["query"].unsqueeze(2) + of["keys"].unsqueeze(1) + of["bias"])
    scores = units @ (of["v"] / of["v"].norm() * of["gain"])
    if lengths:
        behind = torch.arange(PLACES) >= torch.tensor(lengths).unsqueeze(1)
        scores = scores.masked_fill(behind.unsqueeze(1), MASKED)
    probabilities = scores.softmax(-1)
    return probabilities @ of["values"], probabilities


def run(seed, lengths):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"query": (SAMPLES, QUERIES, UNITS), "keys": (SAMPLES, PLACES, UNITS),
              "values": (SAMPLES, PLACES, CHANNELS), "v": (UNITS,), "gain": (1,), "bias": (UNITS,)}
    inputs = {name: drawn(generator, *shape).requires_grad_() for name, shape in shapes.items()}
    dcontext = drawn(generator, SAMPLES, QUERIES, CHANNELS)
    context, probabilities = attend(inputs, lengths)
    (context * dcontext).sum().backward()
    made = {"dcontext": dcontext, "context": context, "probabilities": probabilities}
    return {**inputs, **made, **{"d" + name: each.grad for name, each in inputs.items()}}


def main():
    version = torch.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/golden/attention.py with PyTorch {version}: attention with a normalised scorer in f64, forward and
// backward.
#ifndef PARTITA_TESTS_OPS_HOST_PYTORCH_ATTENTION_H_
#define PARTITA_TESTS_OPS_HOST_PYTORCH_ATTENTION_H_

#include <cstdint>
#include <vector>

namespace partita::pytorch {{

struct Attention {{
  std::vector<double> lengths;  // empty: all places
  std::vector<double> query, keys, values, v, gain, bias;
  std::vector<double> dcontext, context, probabilities;
  std::vector<double> dquery, dkeys, dvalues, dv, dgain, dbias;
}};

inline constexpr int64_t kAttendingSamples = {SAMPLES}, kQueries = {QUERIES}, kKeys = {PLACES};
inline constexpr int64_t kScorerUnits = {UNITS}, kChannels = {CHANNELS};

inline std::vector<Attention> AllAttentions() {{
  return {{""")
    for seed, lengths in enumerate(CASES):
        print(f"      {{{{{', '.join(map(str, lengths or ()))}}},")
        print(",\n".join("       " + numbers(each) for each in run(seed, lengths).values()) + "},")
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_HOST_PYTORCH_ATTENTION_H_""")


if __name__ == "__main__":
    main()
