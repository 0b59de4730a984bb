"""Runs torch.nn.functional.scaled_dot_product_attention in f64 and writes the numbers beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/dot_product_attention.py > tests/ops/host/pytorch/dot_product_attention.h

PyTorch has heads before positions, and keys behind a sequence's end are masked by an operand."""
import torch
from lstm import drawn, numbers

SAMPLES, QUERIES, KEYS, HEADS, DEPTH, CHANNELS = 2, 2, 3, 4, 2, 1

# Groups, whether causal, scale (0: PyTorch's own), lengths of the sequences, the shape of a bias, and how many of its
# first elements are -infinity, which hides keys.
CASES = [(2, False, 0, None, None, 0), (4, True, 0, None, None, 0), (1, False, 0.75, (3, 1), None, 0),
         (2, True, 0, (1, 3), None, 0), (2, False, 0, None, (SAMPLES, HEADS, QUERIES, KEYS), 5),
         (4, True, 0.75, (3, 1), (HEADS, QUERIES, KEYS), 0), (1, False, 0, None, (SAMPLES, 1, 1, KEYS), 1),
         (2, False, 0, None, (QUERIES, 1), 1)]


def attend(query, keys, values, causal, scale, lengths, bias):
    heads_first = [each.transpose(1, 2) for each in (query, keys, values)]
    mask = None
    if lengths:
        mask = (torch.arange(KEYS) < torch.tensor(lengths).unsqueeze(1)).reshape(SAMPLES, 1, 1, KEYS)
        if causal:
            mask = mask & torch.ones(QUERIES, KEYS, dtype=torch.bool).tril()
    if bias is not None:
        hidden = torch.zeros(1, dtype=torch.float64) if mask is None else torch.where(mask, 0.0, -torch.inf).double()
        mask = bias + hidden
    output = torch.nn.functional.scaled_dot_product_attention(
        *heads_first, attn_mask=mask, is_causal=causal and mask is None, scale=scale or None, enable_gqa=True)
    return output.transpose(1, 2)


def run(seed, groups, causal, scale, lengths, bias_shape, hidden):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"query": (SAMPLES, QUERIES, HEADS, DEPTH), "keys": (SAMPLES, KEYS, groups, DEPTH),
              "values": (SAMPLES, KEYS, groups, CHANNELS)}
    inputs = {name: drawn(generator, *shape).requires_grad_() for name, shape in shapes.items()}
    doutput = drawn(generator, SAMPLES, QUERIES, HEADS, CHANNELS)
    bias = None
    if bias_shape:
        bias = drawn(generator, *bias_shape)
        bias.view(-1)[:hidden] = -torch.inf
        bias.requires_grad_()
    output = attend(*inputs.values(), causal, scale, lengths, bias)
    (output * doutput).sum().backward()
    none = torch.zeros(0)
    return {**inputs, "bias": none if bias is None else bias, "doutput": doutput, "output": output,
            **{"d" + name: each.grad for name, each in inputs.items()}, "dbias": none if bias is None else bias.grad}


def main():
    version = torch.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/golden/dot_product_attention.py with PyTorch {version}: scaled dot-product attention in f64, forward and
// backward.
#ifndef PARTITA_TESTS_OPS_HOST_PYTORCH_DOT_PRODUCT_ATTENTION_H_
#define PARTITA_TESTS_OPS_HOST_PYTORCH_DOT_PRODUCT_ATTENTION_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace partita::pytorch {{

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct DotProductAttention {{
  int64_t groups;
  bool causal;
  double scale;
  std::vector<double> lengths;      // empty: all keys
  std::vector<int64_t> bias_shape;  // empty: none
  std::vector<double> query, keys, values, bias, doutput, output;
  std::vector<double> dquery, dkeys, dvalues, dbias;
}};

inline constexpr int64_t kDotProductSamples = {SAMPLES}, kDotProductQueries = {QUERIES}, kDotProductKeys = {KEYS};
inline constexpr int64_t kDotProductHeads = {HEADS}, kDotProductDepth = {DEPTH}, kDotProductChannels = {CHANNELS};

inline std::vector<DotProductAttention> AllDotProductAttentions() {{
  return {{""")
    for seed, (groups, causal, scale, lengths, shape, hidden) in enumerate(CASES):
        print(f"      {{{groups},\n       {str(causal).lower()},\n       {scale},")
        print(f"       {{{', '.join(map(str, lengths or ()))}}},")
        print(f"       {{{', '.join(map(str, shape or ()))}}},")
        made = run(seed, groups, causal, scale, lengths, shape, hidden)
        print(",\n".join("       " + numbers(each).replace("-inf", "-kInfinity") for each in made.values()) + "},")
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_HOST_PYTORCH_DOT_PRODUCT_ATTENTION_H_""")


if __name__ == "__main__":
    main()
