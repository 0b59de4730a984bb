r"""Runs in PyTorch, in f64, what the GPU backend computes in one launch, and writes the numbers beside which the tests
hold ours:

  PYTHONPATH=tools/peer ~/.cache/partita/peer/bin/python tests/ops/cuda/own/pytorch_fused_ops.py \
      > tests/ops/cuda/own/pytorch_fused_ops.h

Batch norms with what follows them, products and convolutions with bias and relu, sums of gradients, and poolings whose
windows have equal numbers. Images are [sample,row,column,channel], as ours."""
import textwrap

import torch
from lstm import drawn, numbers
from torch.nn import functional

IMAGES = (4, 2, 2, 2)
EPSILON = 1e-3
BATCH_NORMS = [(0, False, True), (2, True, True), (0, True, False)]  # samples of a group (0: all), residual, relu
ROWS, IN, OUT, NEXT = 5, 3, 10, 4  # of a product, and of the one behind it
PHOTO, FILTERS = (1, 4, 3, 2), [(3, 3, 3, 2), (2, 3, 3, 2)]  # [output channel,row,column,channel]
PADDING = (1, 1)
POOLED, POOLINGS = (1, 5, 4, 2), [((3, 3), (2, 2), (1, 1)), ((2, 3), (1, 2), (0, 1))]  # kernel, stride, padding


def channels_first(x):
    return x.permute(0, 3, 1, 2)


def channels_last(x):
    return x.permute(0, 2, 3, 1).contiguous()


def batch_norm(generator, samples, adds, relu):
    x, residual, dy = (drawn(generator, *IMAGES) for _ in range(3))
    gamma, beta, shift = (drawn(generator, IMAGES[-1]) for _ in range(3))
    leaves = [each.requires_grad_() for each in (x, residual, gamma, beta)]
    groups = x.split(samples or IMAGES[0])
    y = torch.cat([functional.batch_norm(channels_first(group), None, None, gamma, beta, training=True, eps=EPSILON)
                   for group in groups])
    y = channels_last(y)
    if adds:
        y = y + residual
    if relu:
        y = torch.relu(y)
    (y * dy).sum().backward()
    dx, dresidual, dgamma, dbeta = (torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves)
    return [x, residual, shift, gamma, beta, dy, y, dx, dgamma, dbeta, dresidual]


def product(generator):
    """y = relu(x w + bias), z = y v."""
    x, w, bias, v, dz = (drawn(generator, *shape) for shape in ((ROWS, IN), (IN, OUT), (OUT,), (OUT, NEXT), (ROWS, NEXT)))
    for each in (x, w, bias):
        each.requires_grad_()
    before = x @ w + bias
    before.retain_grad()
    y = torch.relu(before)
    y.retain_grad()
    (y @ v * dz).sum().backward()
    return [x, w, bias, v, dz, y, y.grad, before.grad, w.grad, bias.grad]


def convolution(generator):
    """y = relu(conv(x, w) + bias), and the gradient of x by it and by a second convolution with `other`."""
    x = drawn(generator, *PHOTO).requires_grad_()
    w, other = (drawn(generator, *shape) for shape in FILTERS)
    bias = drawn(generator, FILTERS[0][0])
    convolved = [functional.conv2d(channels_first(x), channels_first(filters), padding=PADDING)
                 for filters in (w, other)]
    y = channels_last(torch.relu(convolved[0] + bias[:, None, None]))
    cotangents = [drawn(generator, *channels_last(each).shape) for each in convolved]
    sum((channels_last(each) * dy).sum() for each, dy in zip(convolved, cotangents)).backward()
    return [x, w, bias, other, y, *cotangents, x.grad]


def pooling(generator, kernel, stride, padding):
    """Of a few numbers, so that windows have several largest ones."""
    x = ((4 * drawn(generator, *POOLED)).round() / 4).requires_grad_()
    found = [x]
    pools = [lambda i: functional.max_pool2d(i, kernel, stride, padding),
             lambda i: functional.avg_pool2d(i, kernel, stride, padding),
             lambda i: functional.avg_pool2d(i, kernel, stride, padding, count_include_pad=False)]
    for pool in pools:
        x.grad = None
        y = channels_last(pool(channels_first(x)))
        dy = drawn(generator, *y.shape) if len(found) == 1 else found[1]
        (y * dy).sum().backward()
        found += [dy, y, x.grad] if len(found) == 1 else [y, x.grad]
    return found


def fields(tensors):
    wrapped = lambda text: textwrap.fill(text, width=112, subsequent_indent=" " * 5)
    return ",\n    ".join(wrapped(numbers(each)) for each in tensors)


def integers(values):
    return "{" + ", ".join(map(str, values)) + "}"


def main():
    version = torch.__version__.split("+")[0]
    generator = torch.Generator().manual_seed(1)
    boolean = lambda value: "true" if value else "false"
    norms = ",\n".join(f"    {{{samples}, {boolean(adds)}, {boolean(relu)},\n    "
                       f"{fields(batch_norm(generator, samples, adds, relu))}}}" for samples, adds, relu in BATCH_NORMS)
    pools = lambda: ",\n".join(f"    {{{', '.join(map(integers, case))},\n    {fields(pooling(generator, *case))}}}"
                               for case in POOLINGS)
    print(f"""\
// Written by tests/ops/cuda/own/pytorch_fused_ops.py with PyTorch {version}: what a GPU computes in one launch, in f64.
#ifndef PARTITA_TESTS_OPS_CUDA_OWN_PYTORCH_FUSED_OPS_H_
#define PARTITA_TESTS_OPS_CUDA_OWN_PYTORCH_FUSED_OPS_H_

#include <cstdint>
#include <vector>

namespace partita::pytorch {{

using Sizes = std::vector<int64_t>;
using Numbers = std::vector<double>;

// y = batch_norm(x), + residual if it `adds`, behind a relu; `samples` of a group, 0: all.
inline const Sizes kImages = {integers(IMAGES)};
inline constexpr double kEpsilon = {EPSILON};
struct BatchNorm {{
  int64_t samples;
  bool adds, relu;
  Numbers x, residual, shift, gamma, beta, dy, y, dx, dgamma, dbeta, dresidual;
}};
inline const std::vector<BatchNorm> kBatchNorms = {{
{norms}}};

// y = relu(x w + bias), z = y v; dbefore is of what the relu reads.
inline constexpr int64_t kRows = {ROWS}, kIn = {IN}, kOut = {OUT}, kNext = {NEXT};
struct Product {{
  Numbers x, w, bias, v, dz, y, dy, dbefore, dw, dbias;
}};
inline const Product kProduct = {{
    {fields(product(generator))}}};

// y = relu(conv(x, w) + bias); dx is the gradient of conv(x, w) by dy and of conv(x, other) by dother together.
inline const Sizes kPhoto = {integers(PHOTO)}, kFilters = {integers(FILTERS[0])}, kOther = {integers(FILTERS[1])};
struct Convolution {{
  Numbers x, w, bias, other, y, dy, dother, dx;
}};
inline const Convolution kConvolution = {{
    {fields(convolution(generator))}}};

// The largest of each window and its average, of all of the window or of what lies in the image, and their gradients.
inline const Sizes kPooled = {integers(POOLED)};
struct Pooling {{
  Sizes kernel, stride, padding;
  Numbers x, dy, largest, dlargest, average, daverage, inside, dinside;
}};
inline const std::vector<Pooling> kPoolings = {{
{pools()}}};

}}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_CUDA_OWN_PYTORCH_FUSED_OPS_H_""")


if __name__ == "__main__":
    main()
