"""Runs smaller ops of sequence models in PyTorch, in f64, and writes the numbers beside which the tests hold ours:

  PYTHONPATH=tools/peer ~/.cache/partita/peer/bin/python tools/peer/golden/sequence_ops.py > tests/ops/host/pytorch/sequence_ops.h

The sampled softmax is that of sequences.BigLstm, from the rows of a layer to its gradients of everything that it reads;
two of the labels are drawn as well. Tanh, a transpose and batched products come with their gradients."""
import textwrap
import types

import torch
from lstm import drawn, numbers
from sequences import BigLstm, LogUniform

CLASSES, ROWS, UNITS, DRAWS = 9, 4, 2, 7
LABELS, IDS = [3, 0, 8, 5], [1, 0, 3, 6]
SHAPE, PERMUTATION = (2, 3, 4), (2, 0, 1)
QUERIES, KEYS = (2, 2, 2, 3), (2, 2, 4, 3)  # samples, heads, places, depth


def sampled_softmax(generator):
    inputs = {"x": drawn(generator, ROWS, UNITS), "weights": drawn(generator, CLASSES, UNITS),
              "bias": drawn(generator, CLASSES)}
    for each in inputs.values():
        each.requires_grad_()
    layer = types.SimpleNamespace(sampler=LogUniform(CLASSES, len(IDS)), weights=inputs["weights"], bias=inputs["bias"])
    loss = BigLstm.softmax(layer, inputs["x"], torch.tensor(LABELS), torch.tensor(IDS), DRAWS)
    loss.backward()
    gradients = [each.grad.to_dense() for each in inputs.values()]
    return [*inputs.values(), loss, *gradients]


def tanh(generator):
    x, dy = 4 * drawn(generator, 9), drawn(generator, 9)
    x.requires_grad_()
    y = torch.tanh(x)
    (y * dy).sum().backward()
    return [x, dy, y, x.grad]


def transpose(generator):
    x = drawn(generator, *SHAPE)
    return [x, x.permute(PERMUTATION).contiguous()]


def batch_product(generator):
    x, y = drawn(generator, *QUERIES).requires_grad_(), drawn(generator, *KEYS).requires_grad_()
    z = torch.matmul(x, y.transpose(2, 3))
    dz = drawn(generator, *z.shape)
    (z * dz).sum().backward()
    return [x, y, dz, z, x.grad, y.grad]


def row(name, tensors):
    wrapped = lambda text: textwrap.fill(text, width=112, subsequent_indent=" " * 5)
    fields = ",\n    ".join(wrapped(numbers(each)) for each in tensors)
    return f"inline const {name} k{name} = {{\n    {fields}}};"


def main():
    version = torch.__version__.split("+")[0]
    generator = torch.Generator().manual_seed(1)
    integers = lambda values: "{" + ", ".join(map(str, values)) + "}"
    print(f"""\
// Written by tools/peer/golden/sequence_ops.py with PyTorch {version}: smaller ops of sequence models in f64.
#ifndef PARTITA_TESTS_OPS_HOST_PYTORCH_SEQUENCE_OPS_H_
#define PARTITA_TESTS_OPS_HOST_PYTORCH_SEQUENCE_OPS_H_

#include <cstdint>
#include <vector>

namespace partita::pytorch {{

inline constexpr int64_t kClasses = {CLASSES}, kRows = {ROWS}, kRowUnits = {UNITS}, kDraws = {DRAWS};
inline const std::vector<double> kLabels = {integers(LABELS)}, kIds = {integers(IDS)};

// From x [rows,units], weights [classes,units] and bias [classes].
struct SampledSoftmax {{
  std::vector<double> x, weights, bias, loss, dx, dweights, dbias;
}};
{row("SampledSoftmax", sampled_softmax(generator))}

struct Tanh {{
  std::vector<double> x, dy, y, dx;
}};
{row("Tanh", tanh(generator))}

inline const std::vector<int64_t> kSizes = {integers(SHAPE)}, kPermutation = {integers(PERMUTATION)};
struct Transpose {{
  std::vector<double> x, y;
}};
{row("Transpose", transpose(generator))}

// z = x y^T for each sample and head.
inline const std::vector<int64_t> kQueries = {integers(QUERIES)}, kKeys = {integers(KEYS)};
struct BatchProduct {{
  std::vector<double> x, y, dz, z, dx, dy;
}};
{row("BatchProduct", batch_product(generator))}

}}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_HOST_PYTORCH_SEQUENCE_OPS_H_""")


if __name__ == "__main__":
    main()
