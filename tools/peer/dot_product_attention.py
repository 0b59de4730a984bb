"""Runs torch.nn.functional.scaled_dot_product_attention in f64 and writes the numbers beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/dot_product_attention.py > tests/ops/host/pytorch/dot_product_attention.h

PyTorch has heads before positions, and keys behind a sequence's end are masked by an operand."""
import torch
from lstm import drawn, numbers

SAMPLES, QUERIES, KEYS, HEADS, DEPTH, CHANNELS = 2, 2, 3, 4, 2, 1

# Groups, whether causal, scale (0: PyTorch's own), lengths of the sequences.
CASES = [(2, False, 0, None), (4, True, 0, None), (1, False, 0.75, (3, 1)), (2, True, 0, (1, 3))]


def attend(query, keys, values, causal, scale, lengths):
    heads_first = [each.transpose(1, 2) for each in (query, keys, values)]
    mask = None
    if lengths:
        mask = (torch.arange(KEYS) < torch.tensor(lengths).unsqueeze(1)).reshape(SAMPLES, 1, 1, KEYS)
        if causal:
            mask = mask & torch.ones(QUERIES, KEYS, dtype=torch.bool).tril()
    output = torch.nn.functional.scaled_dot_product_attention(
        *heads_first, attn_mask=mask, is_causal=causal and mask is None, scale=scale or None, enable_gqa=True)
    return output.transpose(1, 2)


def run(seed, groups, causal, scale, lengths):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"query": (SAMPLES, QUERIES, HEADS, DEPTH), "keys": (SAMPLES, KEYS, groups, DEPTH),
              "values": (SAMPLES, KEYS, groups, CHANNELS)}
    inputs = {name: drawn(generator, *shape).requires_grad_() for name, shape in shapes.items()}
    doutput = drawn(generator, SAMPLES, QUERIES, HEADS, CHANNELS)
    output = attend(*inputs.values(), causal, scale, lengths)
    (output * doutput).sum().backward()
    return {**inputs, "doutput": doutput, "output": output, **{"d" + name: each.grad for name, each in inputs.items()}}


def main():
    version = torch.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/dot_product_attention.py with PyTorch {version}: scaled dot-product attention in f64, forward and
// backward.
#ifndef PARTITA_TESTS_OPS_HOST_PYTORCH_DOT_PRODUCT_ATTENTION_H_
#define PARTITA_TESTS_OPS_HOST_PYTORCH_DOT_PRODUCT_ATTENTION_H_

#include <cstdint>
#include <vector>

namespace partita::pytorch {{

struct DotProductAttention {{
  int64_t groups;
  bool causal;
  double scale;
  std::vector<double> lengths;  // empty: all keys
  std::vector<double> query, keys, values, doutput, output;
  std::vector<double> dquery, dkeys, dvalues;
}};

inline constexpr int64_t kDotProductSamples = {SAMPLES}, kDotProductQueries = {QUERIES}, kDotProductKeys = {KEYS};
inline constexpr int64_t kDotProductHeads = {HEADS}, kDotProductDepth = {DEPTH}, kDotProductChannels = {CHANNELS};

inline std::vector<DotProductAttention> AllDotProductAttentions() {{
  return {{""")
    for seed, (groups, causal, scale, lengths) in enumerate(CASES):
        print(f"      {{{groups},\n       {str(causal).lower()},\n       {scale},")
        print(f"       {{{', '.join(map(str, lengths or ()))}}},")
        print(",\n".join("       " + numbers(each) for each in run(seed, groups, causal, scale, lengths).values()) + "},")
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_HOST_PYTORCH_DOT_PRODUCT_ATTENTION_H_""")


if __name__ == "__main__":
    main()
