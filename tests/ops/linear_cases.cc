// Convolutions, products, biases, and what is joined to them.
#include "ops/functors/epilogue.h"
#include "ops/registry.h"
#include "tests/ops/case_list.h"

namespace partita {
namespace {

struct ConvolutionCase {
  std::string variant;
  Attributes attributes;
  Shape x, w;
};

std::vector<ConvolutionCase> Convolutions() {
  return {
      {"plain", {}, {2, 5, 6, 3}, {4, 3, 3, 3}},
      {"pointwise", {}, {3, 4, 3, 5}, {7, 1, 1, 5}},
      {"row_kernel", {{"padding", Ints{0, 0, 3, 3}}}, {2, 3, 7, 2}, {3, 1, 7, 2}},
      {"stride", {{"stride", Ints{2, 3}}}, {2, 7, 8, 3}, {2, 3, 2, 3}},
      {"padding", {{"padding", Ints{1, 0, 2, 1}}}, {2, 4, 5, 3}, {3, 3, 3, 3}},
      {"pointwise_padding", {{"padding", Ints{0, 1, 0, 2}}}, {2, 4, 3, 3}, {3, 1, 1, 3}},
      {"dilation", {{"dilation", Ints{2, 1}}}, {2, 7, 5, 3}, {3, 3, 2, 3}},
      {"groups", {{"groups", int64_t{3}}, {"padding", Ints{1, 1, 1, 1}}}, {2, 4, 5, 6}, {3, 3, 3, 2}},
      {"depthwise", {{"groups", int64_t{5}}}, {2, 4, 5, 5}, {5, 2, 3, 1}},
      {"multiplier", {{"groups", int64_t{3}}, {"stride", Ints{2, 1}}}, {2, 5, 3, 3}, {6, 3, 2, 1}},
      {"groups_of_pixels", {{"groups", int64_t{4}}}, {2, 3, 2, 8}, {12, 1, 1, 2}},
      {"all",
       {{"stride", Ints{2, 1}}, {"padding", Ints{2, 1, 0, 3}}, {"dilation", Ints{1, 2}}, {"groups", int64_t{2}}},
       {3, 6, 5, 4},
       {6, 3, 3, 2}},
      {"one_sample", {{"stride", Ints{4, 4}}}, {1, 9, 9, 1}, {1, 1, 1, 1}},
  };
}

}  // namespace

void AddLinear(Cases& cases) {
  for (const ConvolutionCase& c : Convolutions()) cases.Add("conv2d", c.variant, c.attributes, {Free(c.x), Free(c.w)});
  cases.Add("matmul", "plain", {}, {Free({5, 7}), Free({7, 3})});
  cases.Add("matmul", "transpose_x", {{"transpose_x", true}}, {Free({7, 5}), Free({7, 3})});
  cases.Add("matmul", "transpose_w", {{"transpose_w", true}}, {Free({5, 7}), Free({3, 7})});
  cases.Add("matmul", "transpose_both", {{"transpose_x", true}, {"transpose_w", true}}, {Free({7, 5}), Free({3, 7})});
  cases.Add("matmul", "vector", {}, {Free({1, 9}), Free({9, 1})});
  cases.Add("matmul", "sequence", {}, {Free({3, 5, 7}), Free({7, 4})});
  cases.Add("matmul", "sequence_transpose_w", {{"transpose_w", true}}, {Free({3, 5, 7}), Free({4, 7})});
  cases.Add("matmul", "sequence_transpose_x", {{"transpose_x", true}}, {Free({3, 5, 7}), Free({3, 5, 4})});
  cases.Add("batch_matmul", "plain", {}, {Free({3, 5, 7}), Free({3, 7, 4})});
  cases.Add("batch_matmul", "transpose_x", {{"transpose_x", true}}, {Free({3, 7, 5}), Free({3, 7, 4})});
  cases.Add("batch_matmul", "transpose_y", {{"transpose_y", true}}, {Free({3, 5, 7}), Free({3, 4, 7})});
  cases.Add("batch_matmul", "heads", {{"transpose_y", true}}, {Free({2, 3, 5, 4}), Free({2, 3, 5, 4})});
  cases.Add("batch_matmul", "windows", {{"transpose_x", true}, {"transpose_y", true}},
            {Free({3, 2, 3, 5, 3}), Free({3, 2, 3, 4, 5})});
  cases.Add("batch_matmul", "one", {}, {Free({1, 1, 9}), Free({1, 9, 1})});
  cases.Add("batch_matmul", "one_for_all", {}, {Free({3, 5, 7}), Free({7, 4})});
  cases.Add("batch_matmul", "one_for_heads", {{"transpose_y", true}}, {Free({2, 3, 5, 4}), Free({2, 1, 5, 4})});
  cases.Add("batch_matmul", "one_for_samples", {{"transpose_x", true}}, {Free({3, 4, 5}), Free({2, 3, 4, 3})});
  cases.Add("batch_matmul", "crossed", {}, {Free({3, 1, 5, 2}), Free({1, 2, 2, 3})});
  cases.Add("bias", "dense", {}, {Free({5, 7}), Free({7})});
  cases.Add("bias", "sequence", {}, {Free({3, 5, 7}), Free({7})});
  cases.Add("bias", "image", {}, {Free({3, 2, 5, 3}), Free({3})});
}

// Inputs are free of one another: these are for the kernels.
void AddLinearGradients(Cases& cases) {
  for (const ConvolutionCase& c : Convolutions()) {
    const OpCase forward{
        "", "conv2d", *CompleteAttributes(*Ops().Find("conv2d"), c.attributes), {Free(c.x), Free(c.w)}};
    const Shape y = ViewOf(forward).outputs[0].shape;
    Attributes attributes = c.attributes;
    attributes.Set("shape", c.x);
    cases.Add("conv2d_input_grad", c.variant, attributes, {Fixed(y), Fixed(c.w)});
    attributes.Set("shape", c.w);
    cases.Add("conv2d_weight_grad", c.variant, attributes, {Fixed(c.x), Fixed(y)});
  }
  cases.Add("conv2d_input_grad_sum", "pixels", {{"shape", Ints{2, 5, 4, 3}}},
            {Fixed({2, 5, 4, 6}), Fixed({6, 1, 1, 3}), Fixed({2, 5, 4, 2}), Fixed({2, 1, 1, 3})});
  cases.Add("conv2d_input_grad_sum", "windows", {{"shape", Ints{2, 5, 4, 3}}, {"padding", Ints{1, 1, 0, 0}}},
            {Fixed({2, 5, 2, 6}), Fixed({6, 3, 3, 3}), Fixed({2, 5, 2, 1}), Fixed({1, 3, 3, 3})});
  cases.Add("matmul_bias_grad", "of_w", {{"transpose_x", true}}, {Fixed({7, 5}), Fixed({7, 3})});
  cases.Add("matmul_bias_grad", "of_x", {{"transpose_x", true}, {"bias_of", std::string("x")}},
            {Fixed({7, 5}), Fixed({7, 3})});
  cases.Add("matmul_bias_grad", "of_w_sequence", {{"transpose_x", true}}, {Fixed({3, 5, 7}), Fixed({3, 5, 4})});
  cases.Add("matmul_bias_grad", "of_x_sequence", {{"transpose_x", true}, {"bias_of", std::string("x")}},
            {Fixed({3, 5, 7}), Fixed({3, 5, 4})});
  for (const bool sequence : {false, true}) {
    const Shape rows = sequence ? Shape{3, 4} : Shape{6};
    const auto of = [&rows](int64_t channels) {
      Shape shape = rows;
      shape.push_back(channels);
      return shape;
    };
    const CaseInput mask{{DType::kU8, of(16)}, false, Fill::kIntegers, 0, 256};
    const std::string name = sequence ? "sequence" : "dense";
    cases.Add("matmul_relu_mask", name, {}, {Fixed(of(5)), Fixed({5, 12}), Fixed({12})});
    cases.Add("matmul_relu_grad", name, {{"transpose_w", true}}, {Fixed(of(5)), Fixed({12, 5}), mask});
  }
  cases.Add("bias_grad", "dense", {}, {Fixed({5, 7})});
  cases.Add("bias_grad", "image", {}, {Fixed({3, 5, 2, 3})});
  cases.Add("bias_grad_relu", "dense", {}, {Fixed({5, 7}), Fixed({5, 7})});
  cases.Add("bias_grad_relu", "image", {}, {Fixed({3, 5, 2, 3}), Fixed({3, 5, 2, 3})});
}

// The bias is absent in every other convolution.
void AddEpilogues(Cases& cases) {
  const Attributes transposed = {{"transpose_x", true}};
  cases.Add("matmul_epilogue", "sequence", {{"activation", "relu"}}, {Fixed({3, 5, 7}), Fixed({7, 4}), Fixed({4})});
  cases.Add("matmul_epilogue", "bias", transposed, {Fixed({7, 5}), Fixed({7, 3}), Fixed({3})});
  for (const std::string& activation : NamesOf(EpilogueOps())) {
    bool biased = true;
    for (const ConvolutionCase& c : Convolutions()) {
      Attributes attributes = c.attributes;
      attributes.Set("activation", activation);
      const std::optional<CaseInput> bias = biased ? std::optional(Fixed({c.w[0]})) : std::nullopt;
      cases.Add("conv2d_epilogue", c.variant + "_" + activation, attributes, {Fixed(c.x), Fixed(c.w), bias});
      biased = !biased;
    }
    Attributes attributes = transposed;
    attributes.Set("activation", activation);
    cases.Add("matmul_epilogue", activation, attributes, {Fixed({7, 5}), Fixed({7, 3}), Fixed({3})});
  }
}

}  // namespace partita
