// Batch normalization does not see a number that is added to every element, however large it is against the deviation.
#ifndef PARTITA_TESTS_OPS_HOST_LARGE_MEAN_H_
#define PARTITA_TESTS_OPS_HOST_LARGE_MEAN_H_

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// What forward and backward pass make of [6,7,5,c] elements of deviation 1 about `mean`, in f32 and from shift 0, as it
// is in the first step. The elements are multiples of 1/64, which f32 holds up to means of 10^5. `run(node, inputs)`
// gives a kernel's outputs.
template <typename Run>
std::vector<Values> NormalizedAbout(double mean, bool relu, const Run& run) {
  const int64_t c = 5, m = 6 * 7 * 5;
  const TensorType x{DType::kF32, {6, 7, 5, c}}, vector{DType::kF32, {c}}, stats{DType::kF64, {1, 2, c}};
  const Attributes attributes{{"epsilon", 1e-3}, {"relu", relu}};
  Values elements = RandomValues(m * c, 1);
  for (double& element : elements) element = mean + std::round(64 * element) / 64;
  const Values dy = RandomValues(m * c, 2), shift(c, 0), gamma = RandomValues(c, 3), beta = RandomValues(c, 4);
  const Values sums = run(WholeNode("batch_norm_statistics", {}, {x, vector}), {elements, shift})[0];
  Values y = run(WholeNode("batch_norm_normalize", attributes, {x, stats, vector, vector, vector}),
                 {elements, sums, shift, gamma, beta})[0];
  std::vector<Values> inputs = {elements, dy, sums, shift, gamma, beta};
  std::vector<std::optional<TensorType>> types = {x, x, stats, vector, vector, vector};
  std::vector<Values> gradients = run(WholeNode("batch_norm_gradient_sums", attributes, types), inputs);
  const Values dstats = gradients[0];
  Values part = run(WholeNode("batch_norm_statistics_grad", {}, {x, vector, stats}), {elements, shift, dstats})[0];
  inputs.push_back(dstats);
  types.push_back(stats);
  Values dx = run(WholeNode("batch_norm_input_grad", attributes, types), inputs)[0];
  return {std::move(y), std::move(gradients[1]), std::move(gradients[2]), std::move(part), std::move(dx)};
}

// `run` in f32 about 10^4 beside the same about 0.
template <typename Run>
void ExpectMeanDoesNotMatter(const Run& run) {
  for (const bool relu : {false, true}) {
    const std::vector<Values> centred = NormalizedAbout(0, relu, run), far = NormalizedAbout(1e4, relu, run);
    const char* const names[] = {"y", "dgamma", "dbeta", "dx by the statistics", "dx"};
    for (size_t i = 0; i < far.size(); ++i) EXPECT_LE(Distance(far[i], centred[i]), 5e-6) << names[i] << " " << relu;
  }
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_LARGE_MEAN_H_
