// Smaller ops of sequence models beside PyTorch's.
#include "tests/ops/host/pytorch/sequence_ops.h"

#include <gtest/gtest.h>

#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

using pytorch::kClasses, pytorch::kIds, pytorch::kLabels, pytorch::kRows, pytorch::kRowUnits;

constexpr double kTolerance = 1e-14;

TensorType F64(Shape shape) { return {DType::kF64, std::move(shape)}; }

Values Reference(const LocalNode& node, const std::vector<Values>& inputs, size_t output = 0) {
  return Outputs(node, inputs, {.reference_only = true})[output];
}

// The layer around the node: its logits of some classes, and what gradients of them are of x, weights and bias.
struct Layer {
  const pytorch::SampledSoftmax& of = pytorch::kSampledSoftmax;
  Values dx = Values(of.x.size(), 0), dweights = Values(of.weights.size(), 0), dbias = Values(of.bias.size(), 0);

  double Logit(int64_t row, int64_t c) const {
    double sum = of.bias[c];
    for (int64_t u = 0; u < kRowUnits; ++u) sum += of.x[row * kRowUnits + u] * of.weights[c * kRowUnits + u];
    return sum;
  }
  void Add(int64_t row, int64_t c, double gradient) {
    dbias[c] += gradient;
    for (int64_t u = 0; u < kRowUnits; ++u) {
      dx[row * kRowUnits + u] += gradient * of.weights[c * kRowUnits + u];
      dweights[c * kRowUnits + u] += gradient * of.x[row * kRowUnits + u];
    }
  }
};

TEST(SampledSoftmax, IsThatOfPyTorch) {
  const auto samples = static_cast<int64_t>(kIds.size());
  Layer layer;
  Values own, logits;
  for (int64_t i = 0; i < kRows; ++i) {
    own.push_back(layer.Logit(i, static_cast<int64_t>(kLabels[i])));
    for (const double id : kIds) logits.push_back(layer.Logit(i, static_cast<int64_t>(id)));
  }
  const TensorType rows = F64({kRows}), i32{DType::kI32, {kRows}}, ids{DType::kI32, {samples}}, draws{DType::kI32, {}};
  const Attributes classes{{"classes", kClasses}};
  const std::vector<Values> read = {own, logits, kLabels, kIds, {static_cast<double>(pytorch::kDraws)}, {}};
  const TensorType of_ids = F64({kRows, samples});
  const LocalNode forward = WholeNode("sampled_cross_entropy", classes, {rows, of_ids, i32, ids, draws, std::nullopt});
  EXPECT_LE(Distance(Reference(forward, read), layer.of.loss), kTolerance);
  const LocalNode backward =
      WholeNode("sampled_cross_entropy_grad", classes, {rows, of_ids, i32, ids, draws, std::nullopt, F64({})});
  std::vector<Values> asked = read;
  asked.push_back({1});
  const Values down = Reference(backward, asked, 0), dlogits = Reference(backward, asked, 1);
  for (int64_t i = 0; i < kRows; ++i) {
    layer.Add(i, static_cast<int64_t>(kLabels[i]), down[i]);
    for (int64_t s = 0; s < samples; ++s) layer.Add(i, static_cast<int64_t>(kIds[s]), dlogits[i * samples + s]);
  }
  EXPECT_LE(Distance(layer.dx, layer.of.dx), kTolerance);
  EXPECT_LE(Distance(layer.dweights, layer.of.dweights), kTolerance);
  EXPECT_LE(Distance(layer.dbias, layer.of.dbias), kTolerance);
}

TEST(Tanh, IsThatOfPyTorch) {
  const pytorch::Tanh& of = pytorch::kTanh;
  const TensorType x = F64({static_cast<int64_t>(of.x.size())});
  EXPECT_LE(Distance(Reference(WholeNode("tanh", {}, {x}), {of.x}), of.y), kTolerance);
  EXPECT_LE(Distance(Reference(WholeNode("tanh_grad", {}, {x, x}), {of.dy, of.y}), of.dx), kTolerance);
}

TEST(Transpose, IsThatOfPyTorch) {
  const IntList permutation(pytorch::kPermutation.begin(), pytorch::kPermutation.end());
  const Shape sizes(pytorch::kSizes.begin(), pytorch::kSizes.end());
  const LocalNode node = WholeNode("transpose", {{"permutation", permutation}}, {F64(sizes)});
  EXPECT_EQ(Reference(node, {pytorch::kTranspose.x}), pytorch::kTranspose.y);
}

// Its gradients are such products as well.
TEST(BatchMatMul, IsThatOfPyTorch) {
  const pytorch::BatchProduct& of = pytorch::kBatchProduct;
  const Shape queries(pytorch::kQueries.begin(), pytorch::kQueries.end());
  const Shape keys(pytorch::kKeys.begin(), pytorch::kKeys.end());
  const TensorType x = F64(queries), y = F64(keys), z = F64({queries[0], queries[1], queries[2], keys[2]});
  const auto product = [](const char* transposed, const TensorType& left, const TensorType& right) {
    return WholeNode("batch_matmul", transposed == nullptr ? Attributes() : Attributes{{transposed, true}},
                     {left, right});
  };
  EXPECT_LE(Distance(Reference(product("transpose_y", x, y), {of.x, of.y}), of.z), kTolerance);
  EXPECT_LE(Distance(Reference(product(nullptr, z, y), {of.dz, of.y}), of.dx), kTolerance);
  EXPECT_LE(Distance(Reference(product("transpose_x", z, x), {of.dz, of.x}), of.dy), kTolerance);
}

}  // namespace
}  // namespace partita
