// What a GPU computes in one launch, beside PyTorch: our own kernels, and the reference that all kernels are compared
// with, in f64.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/cuda/own/emulated.h"
#include "tests/ops/cuda/own/pytorch_fused_ops.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

constexpr double kTolerance = 1e-13;

TensorType F64(Shape shape) { return {DType::kF64, std::move(shape)}; }
TensorType F64(const pytorch::Sizes& sizes) { return F64(Shape(sizes.begin(), sizes.end())); }

// The outputs of both, which are PyTorch's where it has them.
std::vector<Values> Computed(const LocalNode& node, const std::vector<Values>& inputs,
                             const std::vector<std::pair<size_t, Values>>& expected) {
  const std::vector<Values> reference = Outputs(node, inputs, {.reference_only = true});
  const std::vector<Values> own = Emulated(node, inputs);
  for (const auto& [output, values] : expected) {
    EXPECT_LE(Distance(reference[output], values), kTolerance) << node.op->name << " reference, output " << output;
    EXPECT_LE(Distance(own[output], values), kTolerance) << node.op->name << ", output " << output;
  }
  return own;
}

// Forward and backward in one launch each, and in two.
TEST(BatchNorm, WithWhatFollowsItIsThatOfPyTorch) {
  for (const pytorch::BatchNorm& of : pytorch::kBatchNorms) {
    const TensorType x = F64(pytorch::kImages), vector = F64(Shape{pytorch::kImages[3]});
    const TensorType stats = F64(Shape{of.samples == 0 ? 1 : pytorch::kImages[0] / of.samples, 2, pytorch::kImages[3]});
    Attributes attributes{{"samples", of.samples}, {"epsilon", pytorch::kEpsilon}, {"relu", of.relu}};
    const auto node = [&](const std::string& op, std::vector<std::optional<TensorType>> types) {
      return WholeNode(op, attributes, types);
    };
    std::vector<Values> read = {of.x, of.shift, of.gamma, of.beta}, backward = {of.x, of.dy};
    Values sums;
    if (!of.adds) {
      sums = Computed(node("batch_norm_forward", {x, vector, vector, vector}), read, {{0, of.y}})[1];
      Computed(node("batch_norm_normalize", {x, stats, vector, vector, vector}),
               {of.x, sums, of.shift, of.gamma, of.beta}, {{0, of.y}});
    } else {
      read.push_back(of.residual);
      sums = Computed(node("batch_norm_forward_add", {x, vector, vector, vector, x}), read, {{0, of.y}})[1];
      Computed(node("batch_norm_normalize_add", {x, stats, vector, vector, vector, x}),
               {of.x, sums, of.shift, of.gamma, of.beta, of.residual}, {{0, of.y}});
      attributes.Set("relu", false);  // it is behind the sum
    }
    for (const Values& values : {sums, of.shift, of.gamma, of.beta}) backward.push_back(values);
    std::vector<std::optional<TensorType>> types = {x, x, stats, vector, vector, vector};
    const std::vector<std::pair<size_t, Values>> parameters = {{1, of.dgamma}, {2, of.dbeta}};
    std::vector<std::pair<size_t, Values>> all = {{0, of.dx}, {1, of.dgamma}, {2, of.dbeta}};
    if (of.adds && of.relu) {
      types.push_back(x);
      backward.push_back(of.y);
      all.push_back({3, of.dresidual});
      Computed(node("batch_norm_backward_relu", types), backward, all);
      const std::vector<Values> found = Computed(node("batch_norm_gradient_sums_relu", types), backward, parameters);
      EXPECT_EQ(found[3], of.dresidual);
      backward = {of.x, of.dresidual, sums, of.shift, of.gamma, of.beta, found[0]};
    } else {
      Computed(node("batch_norm_backward", types), backward, all);
      backward.push_back(Computed(node("batch_norm_gradient_sums", types), backward, parameters)[0]);
    }
    Computed(node("batch_norm_input_grad", {x, x, stats, vector, vector, vector, stats}), backward, {{0, of.dx}});
  }
}

TEST(Product, WithBiasAndReluIsThatOfPyTorch) {
  using pytorch::kIn, pytorch::kNext, pytorch::kOut, pytorch::kRows;
  const pytorch::Product& of = pytorch::kProduct;
  const TensorType x = F64(Shape{kRows, kIn}), w = F64(Shape{kIn, kOut}), bias = F64(Shape{kOut}),
                   y = F64(Shape{kRows, kOut});
  Computed(WholeNode("matmul_epilogue", {{"activation", std::string("relu")}}, {x, w, bias}), {of.x, of.w, of.bias},
           {{0, of.y}});
  const Values mask = Computed(WholeNode("matmul_relu_mask", {}, {x, w, bias}), {of.x, of.w, of.bias}, {{0, of.y}})[1];
  const TensorType bits{DType::kU8, {kRows, static_cast<int64_t>(mask.size()) / kRows}};
  Computed(
      WholeNode("matmul_relu_grad", {{"transpose_w", true}}, {F64(Shape{kRows, kNext}), F64(Shape{kOut, kNext}), bits}),
      {of.dz, of.v, mask}, {{0, of.dbefore}});
  Computed(WholeNode("bias_grad_relu", {}, {y, y}), {of.dy, of.y}, {{0, of.dbias}, {1, of.dbefore}});
  Computed(WholeNode("matmul_bias_grad", {{"transpose_x", true}}, {x, y}), {of.x, of.dbefore},
           {{0, of.dw}, {1, of.dbias}});
}

TEST(Convolution, WithBiasAndReluIsThatOfPyTorch) {
  const pytorch::Convolution& of = pytorch::kConvolution;
  const TensorType x = F64(pytorch::kPhoto), w = F64(pytorch::kFilters), other = F64(pytorch::kOther);
  Attributes attributes{{"padding", IntList{1, 1, 1, 1}}, {"activation", std::string("relu")}};
  Computed(WholeNode("conv2d_epilogue", attributes, {x, w, F64(Shape{pytorch::kFilters[0]})}), {of.x, of.w, of.bias},
           {{0, of.y}});
  attributes.Remove("activation");
  const auto output = [&](const TensorType& filters) {
    return WholeNode("conv2d", attributes, {x, filters}).outputs[0];
  };
  const TensorType dy = F64(output(w).global), dother = F64(output(other).global);
  attributes.Set("shape", IntList(pytorch::kPhoto.begin(), pytorch::kPhoto.end()));
  Computed(WholeNode("conv2d_input_grad_sum", attributes, {dy, w, dother, other}), {of.dy, of.w, of.dother, of.other},
           {{0, of.dx}});
}

// Of equal numbers the first one gets the gradient.
TEST(Pooling, IsThatOfPyTorch) {
  const TensorType x = F64(pytorch::kPooled);
  for (const pytorch::Pooling& of : pytorch::kPoolings) {
    Attributes attributes{{"kernel", IntList(of.kernel.begin(), of.kernel.end())},
                          {"stride", IntList(of.stride.begin(), of.stride.end())},
                          {"padding", IntList{of.padding[0], of.padding[0], of.padding[1], of.padding[1]}}};
    const LocalNode largest = WholeNode("max_pool", attributes, {x});
    const TensorType y = F64(largest.outputs[0].global);
    Computed(largest, {of.x}, {{0, of.largest}});
    Computed(WholeNode("max_pool_grad", attributes, {x, y, y}), {of.x, of.largest, of.dy}, {{0, of.dlargest}});
    for (const bool counts : {true, false}) {
      attributes.Set("count_padding", counts);
      Computed(WholeNode("average_pool", attributes, {x}), {of.x}, {{0, counts ? of.average : of.inside}});
      attributes.Set("shape", IntList(pytorch::kPooled.begin(), pytorch::kPooled.end()));
      Computed(WholeNode("average_pool_grad", attributes, {y}), {of.dy}, {{0, counts ? of.daverage : of.dinside}});
      attributes.Remove("shape");
    }
  }
}

}  // namespace
}  // namespace partita
