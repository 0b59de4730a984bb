// Shapes that are inferred.
#include <gtest/gtest.h>

#include "ops/functors/elementwise.h"
#include "tests/ops/infer.h"

namespace partita {
namespace {

using Ints = IntList;

struct ShapeCase {
  std::string op;
  Attributes attributes;
  std::vector<std::optional<TensorType>> inputs;
  std::vector<TensorType> outputs;
};

std::vector<ShapeCase> SourceCases() {
  return {
      {"input", {{"shape", Ints{64, 28, 28, 1}}}, {}, {F32({64, 28, 28, 1})}},
      {"input", {{"shape", Ints{64}}, {"dtype", "i32"}}, {}, {I32({64})}},
      {"parameter", {{"shape", Ints{3, 5}}, {"initializer", "he_normal"}}, {}, {F32({3, 5})}},
      {"parameter", {{"shape", Ints{3}}, {"initializer", "constant"}, {"dtype", "f64"}}, {}, {F64({3})}},
      {"state", {{"shape", Ints{}}, {"initializer", "constant"}, {"scale", 0.0}, {"dtype", "i32"}}, {}, {I32({})}},
      {"constant", {{"shape", Ints{2}}, {"value", 255.0}, {"dtype", "u8"}}, {}, {U8({2})}},
  };
}

std::vector<ShapeCase> ConvolutionCases() {
  const Ints one = {1, 1, 1, 1};
  return {
      {"conv2d", {}, {F32({8, 28, 28, 3}), F32({16, 3, 3, 3})}, {F32({8, 26, 26, 16})}},
      {"conv2d", {{"padding", one}}, {F32({8, 28, 28, 3}), F32({16, 3, 3, 3})}, {F32({8, 28, 28, 16})}},
      {"conv2d",
       {{"padding", one}, {"stride", Ints{2, 3}}},
       {F32({8, 9, 9, 3}), F32({16, 3, 3, 3})},
       {F32({8, 5, 3, 16})}},
      {"conv2d", {{"dilation", Ints{2, 4}}}, {F32({8, 9, 9, 3}), F32({16, 3, 3, 3})}, {F32({8, 5, 1, 16})}},
      {"conv2d", {{"groups", int64_t{3}}}, {F64({8, 9, 9, 6}), F64({9, 1, 1, 2})}, {F64({8, 9, 9, 9})}},
      {"conv2d", {{"padding", Ints{0, 0, 3, 3}}}, {F32({1, 17, 17, 2}), F32({4, 1, 7, 2})}, {F32({1, 17, 17, 4})}},
      {"conv2d_epilogue",
       {{"padding", one}, {"activation", "relu"}},
       {F32({8, 9, 9, 3}), F32({16, 3, 3, 3}), F32({16})},
       {F32({8, 9, 9, 16})}},
      {"conv2d_epilogue", {}, {F64({8, 9, 9, 3}), F64({16, 3, 3, 3}), std::nullopt}, {F64({8, 7, 7, 16})}},
      {"conv2d_input_grad",
       {{"shape", Ints{8, 9, 9, 3}}, {"stride", Ints{2, 3}}, {"padding", one}},
       {F32({8, 5, 3, 16}), F32({16, 3, 3, 3})},
       {F32({8, 9, 9, 3})}},
      {"conv2d_input_grad_sum",
       {{"shape", Ints{8, 9, 9, 3}}},
       {F64({8, 9, 9, 4}), F64({4, 1, 1, 3}), F64({8, 9, 9, 7}), F64({7, 1, 1, 3})},
       {F64({8, 9, 9, 3})}},
      {"conv2d_weight_grad",
       {{"shape", Ints{16, 3, 3, 3}}},
       {F32({8, 9, 9, 3}), F32({8, 7, 7, 16})},
       {F32({16, 3, 3, 3})}},
  };
}

std::vector<ShapeCase> DenseCases() {
  return {
      {"matmul", {}, {F32({4, 6}), F32({6, 8})}, {F32({4, 8})}},
      {"matmul", {{"transpose_x", true}}, {F32({6, 4}), F32({6, 8})}, {F32({4, 8})}},
      {"matmul", {{"transpose_w", true}}, {F32({4, 6}), F32({8, 6})}, {F32({4, 8})}},
      {"matmul", {}, {F32({4, 3, 6}), F32({6, 8})}, {F32({4, 3, 8})}},
      {"matmul", {{"transpose_w", true}}, {F32({4, 3, 6}), F32({8, 6})}, {F32({4, 3, 8})}},
      {"matmul", {{"transpose_x", true}}, {F32({4, 3, 6}), F32({4, 3, 8})}, {F32({6, 8})}},
      {"batch_matmul", {}, {F32({4, 3, 6}), F32({4, 6, 8})}, {F32({4, 3, 8})}},
      {"batch_matmul", {{"transpose_x", true}}, {F64({4, 6, 3}), F64({4, 6, 8})}, {F64({4, 3, 8})}},
      {"batch_matmul", {{"transpose_y", true}}, {F32({4, 2, 3, 6}), F32({4, 2, 8, 6})}, {F32({4, 2, 3, 8})}},
      {"batch_matmul", {}, {F32({4, 2, 5, 3, 6}), F32({4, 2, 5, 6, 1})}, {F32({4, 2, 5, 3, 1})}},
      {"batch_matmul", {}, {F32({4, 2, 3, 6}), F32({6, 5})}, {F32({4, 2, 3, 5})}},
      {"batch_matmul", {{"transpose_x", true}}, {F32({2, 6, 3}), F32({4, 1, 6, 5})}, {F32({4, 2, 3, 5})}},
      {"matmul_epilogue", {}, {F32({4, 3, 6}), F32({6, 8}), F32({8})}, {F32({4, 3, 8})}},
      {"bias", {}, {F32({4, 3, 6}), F32({6})}, {F32({4, 3, 6})}},
      {"matmul_epilogue", {{"activation", "relu"}}, {F32({4, 6}), F32({6, 8}), F32({8})}, {F32({4, 8})}},
      {"matmul_epilogue",
       {{"wide", true}},
       {TensorType{DType::kBF16, {4, 6}}, TensorType{DType::kBF16, {6, 8}}, F32({8})},
       {F32({4, 8})}},
      {"matmul_bias_grad", {{"transpose_x", true}}, {F32({6, 4}), F32({6, 8})}, {F32({4, 8}), F32({8})}},
      {"matmul_bias_grad",
       {{"transpose_x", true}, {"bias_of", std::string("x")}},
       {F32({6, 4}), F32({6, 8})},
       {F32({4, 8}), F32({4})}},
      {"matmul_relu_mask", {}, {F32({4, 6}), F32({6, 8}), F32({8})}, {F32({4, 8}), {DType::kU8, {4, 16}}}},
      {"matmul_relu_mask",
       {},
       {F32({4, 3, 6}), F32({6, 129}), std::nullopt},
       {F32({4, 3, 129}), {DType::kU8, {4, 3, 32}}}},
      {"matmul_relu_grad",
       {{"transpose_w", true}},
       {F32({4, 6}), F32({8, 6}), TensorType{DType::kU8, {4, 16}}},
       {F32({4, 8})}},
      {"bias", {}, {F32({4, 6}), F32({6})}, {F32({4, 6})}},
      {"bias_grad", {}, {F32({4, 3, 3, 6})}, {F32({6})}},
      {"bias_grad_relu", {}, {F32({4, 3, 3, 6}), F32({4, 3, 3, 6})}, {F32({6}), F32({4, 3, 3, 6})}},
      {"add", {}, {F32({}), F32({}), F32({})}, {F32({})}},
      {"scale", {{"factor", -0.5}}, {F64({4, 6})}, {F64({4, 6})}},
      {"over", {}, {F64({4, 6}), F64({})}, {F64({4, 6})}},
      {"stop_gradient", {}, {F32({4, 6})}, {F32({4, 6})}},
      {"stop_gradient", {}, {I32({4})}, {I32({4})}},
      {"pixels", {}, {U8({3, 5})}, {F32({3, 5})}},
      {"pixels", {{"dtype", "f64"}, {"mean", "0.1,0.2"}}, {U8({3, 5, 2})}, {F64({3, 5, 2})}},
      {"dropout", {{"rate", 0.5}}, {F32({3, 5}), std::nullopt}, {F32({3, 5})}},
      {"dropout", {{"rate", 0.0}}, {F32({3, 5}), I32({})}, {F32({3, 5})}},
  };
}

std::vector<ShapeCase> ElementwiseCases() {
  std::vector<ShapeCase> cases;
  for (const TensorType& x : {F32({4, 6, 2}), F64({3}), F32({})}) {
    for (const std::string& op : NamesOf(UnaryOps())) cases.push_back({op, {}, {x}, {x}});
    for (const std::string& op : NamesOf(BinaryOps())) cases.push_back({op, {}, {x, x}, {x}});
  }
  return cases;
}

std::vector<ShapeCase> PoolingCases() {
  const Attributes halves = {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}};
  const Attributes same = {{"kernel", Ints{3, 3}}, {"padding", Ints{1, 1, 1, 1}}};
  return {
      {"max_pool", halves, {F32({8, 28, 27, 3})}, {F32({8, 14, 13, 3})}},
      {"average_pool", same, {F32({8, 7, 7, 3})}, {F32({8, 7, 7, 3})}},
      {"max_pool_grad", halves, {F32({8, 28, 27, 3}), F32({8, 14, 13, 3}), F32({8, 14, 13, 3})}, {F32({8, 28, 27, 3})}},
      {"average_pool_grad",
       {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}, {"shape", Ints{8, 5, 5, 3}}},
       {F32({8, 2, 2, 3})},
       {F32({8, 5, 5, 3})}},
      {"global_average_pool", {}, {F32({8, 7, 7, 3})}, {F32({8, 3})}},
      {"global_average_pool_grad", {{"shape", Ints{8, 7, 7, 3}}}, {F32({8, 3})}, {F32({8, 7, 7, 3})}},
  };
}

std::vector<ShapeCase> BatchNormCases() {
  const TensorType x = F32({6, 2, 2, 4}), vector = F32({4}), whole = F64({1, 2, 4}), groups = F64({3, 2, 4});
  const Attributes two = {{"samples", int64_t{2}}};
  return {
      {"batch_norm", {}, {x, vector, vector, vector, vector}, {x}},
      {"batch_norm_statistics", {}, {x, vector}, {whole}},
      {"batch_norm_statistics", two, {x, vector}, {groups}},
      {"batch_norm_statistics", {{"samples", int64_t{6}}}, {x, vector}, {whole}},
      {"batch_norm_normalize", two, {x, groups, vector, vector, vector}, {x}},
      {"batch_norm_gradient_sums", two, {x, x, groups, vector, vector, vector}, {groups, vector, vector}},
      {"batch_norm_forward", two, {x, vector, vector, vector}, {x, groups}},
      {"batch_norm_backward", two, {x, x, groups, vector, vector, vector}, {x, vector, vector}},
      {"batch_norm_normalize_add", two, {x, groups, vector, vector, vector, x}, {x}},
      {"batch_norm_forward_add", two, {x, vector, vector, vector, x}, {x, groups}},
      {"batch_norm_gradient_sums_relu", two, {x, x, groups, vector, vector, vector, x}, {groups, vector, vector, x}},
      {"batch_norm_backward_relu", two, {x, x, groups, vector, vector, vector, x}, {x, vector, vector, x}},
      {"batch_norm_input_grad", {}, {x, x, whole, vector, vector, vector, whole}, {x}},
      {"batch_norm_running", {{"count", int64_t{8}}}, {groups, vector, vector, std::nullopt}, {vector, vector}},
      {"batch_norm_running", {{"count", int64_t{8}}}, {groups, F64({4}), F64({4}), I32({})}, {F64({4}), F64({4})}},
      {"batch_norm_inference", {}, {x, vector, vector, vector, vector}, {x}},
  };
}

std::vector<ShapeCase> SumCases() {
  const TensorType narrow{DType::kBF16, {8, 7, 7, 3}}, x = F32({8, 7, 7, 3});
  const Attributes pixels = {{"axes", Ints{1, 2}}}, of_pixels = {{"axes", Ints{1, 2}}, {"sizes", Ints{7, 7}}};
  Attributes gradient = of_pixels;
  gradient.Set("dtype", "bf16");
  return {
      {"sum", {}, {x}, {F32({})}},
      {"sum", {{"keep_sizes", true}}, {x}, {F32({1, 1, 1, 1})}},
      {"sum", pixels, {narrow}, {F32({8, 3})}},
      {"mean", pixels, {F64({8, 7, 7, 3})}, {F64({8, 3})}},
      {"mean", {{"axes", Ints{0, 3}}, {"keep_sizes", true}}, {x}, {F32({1, 7, 7, 1})}},
      {"sum_grad", gradient, {std::nullopt, F32({8, 3})}, {narrow}},
      {"expand", of_pixels, {F32({8, 3})}, {x}},
      {"expand", {{"axes", Ints{0}}, {"sizes", Ints{4}}}, {F32({})}, {F32({4})}},
      {"expand_like", {{"axes", Ints{0, 2}}}, {F32({4, 6, 5}), F32({6})}, {F32({4, 6, 5})}},
      {"add", {}, {F32({4, 6}), F32({6}), F32({4, 1})}, {F32({4, 6})}},
      {"mul", {}, {F64({5, 1}), F64({2, 1, 7})}, {F64({2, 5, 7})}},
      {"sub", {}, {F32({3}), F32({})}, {F32({3})}},
      {"div", {}, {F32({2, 3}), F32({1, 1, 3})}, {F32({1, 2, 3})}},
      {"mean_squared_error", {}, {x, x, std::nullopt}, {F32({})}},
      {"mean_squared_error", {}, {F64({8}), F64({8}), F64({8})}, {F64({})}},
      {"mean_squared_error_grad", {}, {x, x, F32({8}), F32({})}, {x}},
  };
}

std::vector<ShapeCase> LayerNormCases() {
  const TensorType x = F32({6, 2, 4}), vector = F32({4}), stats = F64({6, 2, 2});
  const TensorType narrow{DType::kBF16, {6, 2, 4}};
  return {
      {"layer_norm", {}, {x, vector, vector}, {x}},
      {"layer_norm", {{"epsilon", 0.1}}, {narrow, vector, vector}, {narrow}},
      {"layer_norm_input_grad", {}, {narrow, narrow, vector}, {narrow, stats}},
      {"layer_norm_parameter_grad", {}, {x, x, stats}, {vector, vector}},
      {"layer_norm_parameter_grad", {}, {narrow, narrow, stats}, {vector, vector}},
  };
}

std::vector<ShapeCase> LstmCases() {
  const TensorType g = F32({6, 2, 12}), w = F32({3, 12}), h = F32({6, 2, 3}), state = F32({6, 3}), lengths = I32({6});
  const TensorType w5 = F32({5, 12}), projection = F32({3, 5}), h5 = F32({6, 2, 5}), state5 = F32({6, 5});
  const auto narrow = [](const TensorType& type) { return TensorType{DType::kBF16, type.shape}; };
  return {
      {"lstm", {{"reverse", true}}, {g, w, std::nullopt, std::nullopt, std::nullopt, std::nullopt}, {h}},
      {"lstm", {}, {g, w5, projection, state5, state, lengths}, {h5}},
      {"lstm_steps", {}, {g, w, std::nullopt, state, state, lengths}, {h, g, h, state, state}},
      {"lstm_steps", {}, {g, w5, projection, state5, state, lengths}, {h5, g, h, state5, state}},
      {"lstm_steps",
       {},
       {narrow(g), narrow(w), std::nullopt, narrow(state), state, lengths},
       {narrow(h), narrow(g), h, narrow(state), state}},
      {"lstm_steps_grad",
       {},
       {narrow(h), narrow(g), h, narrow(h), narrow(w), narrow(state), state, lengths},
       {narrow(g), narrow(h), narrow(state), state}},
      {"lstm_projected_steps_grad",
       {},
       {h5, g, h, h5, w5, std::nullopt, std::nullopt, std::nullopt, projection},
       {g, h5, state5, state, h5, h}},
  };
}

std::vector<ShapeCase> AttentionCases() {
  const TensorType query = F32({6, 2, 4}), keys = F32({6, 5, 4}), values = F32({6, 5, 3}), vector = F32({4});
  const TensorType context = F32({6, 2, 3}), probabilities = F32({6, 2, 5}), gain = F32({1}), lengths = I32({6});
  const auto narrow = [](const TensorType& type) { return TensorType{DType::kBF16, type.shape}; };
  return {
      {"attention", {}, {query, keys, values, vector, gain, vector, std::nullopt}, {context}},
      {"attention_context", {}, {query, keys, values, vector, gain, vector, lengths}, {context, probabilities}},
      {"attention_context",
       {},
       {narrow(query), narrow(keys), narrow(values), vector, gain, vector, lengths},
       {narrow(context), probabilities}},
      {"attention_context_grad",
       {},
       {narrow(context), probabilities, narrow(query), narrow(keys), narrow(values), vector, gain, vector},
       {narrow(query), narrow(keys), narrow(values), vector, gain, vector}},
  };
}

std::vector<ShapeCase> DotProductAttentionCases() {
  const TensorType query = F32({6, 2, 4, 3}), keys = F32({6, 5, 2, 3}), values = F32({6, 5, 2, 7});
  const TensorType output = F32({6, 2, 4, 7}), lse = F32({6, 4, 2}), lengths = I32({6});
  const auto narrow = [](const TensorType& type) { return TensorType{DType::kBF16, type.shape}; };
  const std::string op = "scaled_dot_product_attention";
  return {
      {op, {}, {query, keys, values, std::nullopt, std::nullopt, std::nullopt}, {output}},
      {op, {{"causal", true}, {"scale", 2.0}}, {query, keys, values, lengths, F32({6, 4, 2, 5}), I32({})}, {output}},
      {op, {}, {query, keys, values, std::nullopt, F32({4, 1, 5}), std::nullopt}, {output}},
      {op, {}, {query, keys, values, std::nullopt, F32({}), std::nullopt}, {output}},
      {op + "_forward", {}, {query, keys, values, lengths, std::nullopt, std::nullopt}, {output, lse}},
      {op + "_forward",
       {},
       {narrow(query), narrow(keys), narrow(values), std::nullopt, F32({2, 5}), std::nullopt},
       {narrow(output), lse}},
      {op + "_grad",
       {},
       {narrow(output), narrow(output), lse, narrow(query), narrow(keys), narrow(values), lengths, std::nullopt,
        std::nullopt},
       {narrow(query), narrow(keys), narrow(values)}},
      {op + "_bias_grad",
       {},
       {narrow(output), narrow(output), lse, narrow(query), narrow(keys), narrow(values), lengths, F32({2, 5}),
        I32({})},
       {F32({2, 5})}},
  };
}

std::vector<ShapeCase> RearrangingCases() {
  return {
      {"concat", {{"axis", int64_t{1}}}, {F32({4, 6}), F32({4, 1})}, {F32({4, 7})}},
      {"concat", {{"axis", int64_t{0}}}, {I32({4}), I32({3}), I32({2})}, {I32({9})}},
      {"slice", {{"begin", Ints{1, 2}}, {"size", Ints{3, 4}}}, {F32({4, 6})}, {F32({3, 4})}},
      {"slice_grad", {{"begin", Ints{1, 2}}, {"shape", Ints{4, 6}}}, {F32({3, 4})}, {F32({4, 6})}},
      {"reshape", {{"shape", Ints{-1, 4}}}, {F32({4, 6})}, {F32({6, 4})}},
      {"reshape", {{"shape", Ints{}}}, {F32({1, 1})}, {F32({})}},
      {"transpose", {{"permutation", Ints{1, 0}}}, {I32({4, 6})}, {I32({6, 4})}},
      {"transpose", {{"permutation", Ints{0, 2, 3, 1}}}, {F32({4, 6, 2, 3})}, {F32({4, 2, 3, 6})}},
      {"cast", {{"dtype", "f32"}}, {U8({4, 6})}, {F32({4, 6})}},
  };
}

std::vector<ShapeCase> RowsCases() {
  const Attributes rows = {{"rows", int64_t{9}}};
  return {
      {"embedding", {}, {F32({9, 4}), I32({6})}, {F32({6, 4})}},
      {"embedding", {{"padding_row", int64_t{8}}}, {F64({9, 4}), I32({6, 2})}, {F64({6, 2, 4})}},
      {"embedding_grad", rows, {std::nullopt, I32({6}), F32({6, 4})}, {F32({9, 4})}},
      {"embedding_grad", rows, {F64({9, 4}), I32({6, 2}), F64({6, 2, 4})}, {F64({9, 4})}},
      {"merge_rows", {{"padding_rows", Ints{-1}}}, {I32({6}), F32({6, 4})}, {I32({6}), F32({6, 4})}},
      {"merge_rows",
       {{"padding_rows", Ints{0, -1}}},
       {I32({6, 2}), F64({6, 2, 4}), I32({5}), F64({5, 4})},
       {I32({17}), F64({17, 4})}},
      {"sampled_softmax_cross_entropy",
       {{"samples", int64_t{4}}},
       {F32({6, 2, 5}), F32({9, 5}), F32({9}), I32({6, 2}), F32({6, 2})},
       {F32({})}},
      {"log_uniform_ids",
       {{"samples", int64_t{4}}, {"classes", int64_t{8}}, {"key", "loss"}},
       {I32({})},
       {I32({4}), I32({})}},
      {"sampled_cross_entropy",
       {{"classes", int64_t{9}}},
       {F64({6, 2}), F64({6, 2, 4}), I32({6, 2}), I32({4}), I32({}), F64({6})},
       {F64({})}},
      {"sampled_cross_entropy_grad",
       {{"classes", int64_t{9}}},
       {F32({6}), F32({6, 4}), I32({6}), I32({4}), I32({}), std::nullopt, F32({})},
       {F32({6}), F32({6, 4})}},
      {"sgd_rows", {}, {F32({9, 4}), I32({6}), F32({6, 4}), F32({}), I32({}), std::nullopt}, {F32({9, 4})}},
      {"adagrad_rows",
       {},
       {F32({9, 4}), I32({6}), F32({6, 4}), F32({9, 4}), F32({}), I32({}), F32({})},
       {F32({9, 4}), F32({9, 4})}},
  };
}

std::vector<ShapeCase> TrainingCases() {
  const TensorType w = F32({3, 5}), scalar = F32({});
  return {
      {"softmax", {}, {F32({4, 6})}, {F32({4, 6})}},
      {"softmax", {}, {F64({4, 2, 5, 6})}, {F64({4, 2, 5, 6})}},
      {"softmax_grad", {}, {F32({4, 2, 6}), F32({4, 2, 6})}, {F32({4, 2, 6})}},
      {"log_softmax", {}, {F32({4, 6})}, {F32({4, 6})}},
      {"log_softmax", {}, {F32({4, 2, 6})}, {F32({4, 2, 6})}},
      {"softmax_cross_entropy", {}, {F32({4, 6}), I32({4}), std::nullopt}, {scalar}},
      {"softmax_cross_entropy", {}, {F32({4, 3, 6}), I32({4, 3}), F32({4})}, {scalar}},
      {"softmax_cross_entropy", {{"reduction", "sum"}}, {F32({4, 3, 6}), I32({4, 3}), F32({4, 3})}, {scalar}},
      {"softmax_cross_entropy_grad", {}, {F64({4, 6}), I32({4}), F64({4}), F64({})}, {F64({4, 6})}},
      {"row_maximum", {}, {F64({4, 6})}, {F64({4})}},
      {"positions", {{"axis", int64_t{1}}}, {F64({4, 6})}, {F64({4, 6})}},
      {"row_exponentials", {}, {F32({4, 6}), F32({4})}, {F32({4})}},
      {"row_exponentials_grad", {}, {F32({4, 6}), F32({4}), F32({4})}, {F32({4, 6})}},
      {"row_exponentials", {}, {F32({4, 3, 6}), F32({4, 3})}, {F32({4, 3})}},
      {"softmax_normalize", {}, {F32({4, 6}), F32({4}), F32({4})}, {F32({4, 6})}},
      {"softmax_normalize_grad", {}, {F32({4, 3, 6}), F32({4, 3, 6}), F32({4, 3})}, {F32({4, 3})}},
      {"log_softmax_normalize", {}, {F32({4, 6}), F32({4}), F32({4})}, {F32({4, 6})}},
      {"log_softmax_normalize_grad", {}, {F32({4, 6}), F32({4})}, {F32({4})}},
      {"cross_entropy", {}, {F32({4, 6}), I32({4}), std::nullopt, F32({4}), F32({4})}, {scalar}},
      {"cross_entropy_logits_grad", {}, {F64({4, 6}), I32({4}), F64({4}), F64({})}, {F64({4, 6})}},
      {"cross_entropy_sum_grad", {}, {F32({4}), I32({4}), std::nullopt, scalar}, {F32({4})}},
      {"cross_entropy_sum_grad", {}, {F32({4, 3}), I32({4, 3}), F32({4}), scalar}, {F32({4, 3})}},
      {"cross_entropy_sum_grad", {}, {F32({4, 3}), I32({4, 3}), F32({4, 3}), scalar}, {F32({4, 3})}},
      {"softmax_cross_entropy",
       {{"ignore_index", int64_t{-100}}},
       {F32({4, 3, 6}), I32({4, 3}), std::nullopt},
       {scalar}},
      {"count_labels",
       {{"ignore_index", int64_t{-100}}, {"dtype", std::string("f64")}},
       {I32({4, 3}), F64({4})},
       {F64({})}},
      {"accuracy", {}, {F32({4, 6}), I32({4}), F32({4})}, {scalar}},
      {"accuracy", {{"top", int64_t{6}}}, {F32({4, 3, 6}), I32({4, 3}), F32({4})}, {scalar}},
      {"learning_rate", {{"schedule", "constant"}, {"base", 0.1}}, {I32({})}, {scalar}},
      {"increment", {}, {I32({}), I32({})}, {I32({})}},
      {"all_finite", {}, {scalar, std::nullopt}, {I32({})}},
      {"all_finite", {}, {F64({}), F64({})}, {I32({})}},
      {"sum_of_squares", {}, {w}, {scalar}},
      {"clip_scale", {{"max_norm", 1.0}}, {scalar}, {scalar}},
      {"sgd", {}, {w, w, scalar, I32({}), std::nullopt}, {w}},
      {"sgd_momentum", {{"momentum", 0.9}}, {w, w, w, scalar, I32({}), scalar}, {w, w}},
      {"adam", {}, {w, w, w, w, scalar, I32({}), scalar, I32({})}, {w, w, w}},
      {"lamb_direction", {}, {w, w, w, w, std::nullopt, I32({}), scalar, I32({})}, {w, w, w}},
      {"lamb", {}, {w, w, scalar, I32({}), std::nullopt, scalar, scalar}, {w}},
      {"lars", {}, {w, w, w, scalar, I32({}), scalar, scalar, scalar}, {w, w}},
      {"rmsprop", {}, {w, w, w, w, scalar, I32({}), std::nullopt}, {w, w, w}},
  };
}

void ExpectShapes(const std::vector<ShapeCase>& cases) {
  for (const ShapeCase& c : cases) {
    const auto outputs = Infer(c.op, c.attributes, c.inputs);
    ASSERT_TRUE(outputs.ok()) << c.op << ": " << outputs.status();
    ASSERT_EQ(outputs->size(), c.outputs.size()) << c.op;
    ASSERT_EQ(static_cast<int>(outputs->size()), Ops().Find(c.op)->outputs) << c.op;
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      EXPECT_EQ((*outputs)[i].dtype, c.outputs[i].dtype) << c.op;
      EXPECT_EQ((*outputs)[i].shape, c.outputs[i].shape) << c.op;
    }
  }
}

TEST(Shape, Sources) { ExpectShapes(SourceCases()); }
TEST(Shape, Convolution) { ExpectShapes(ConvolutionCases()); }
TEST(Shape, Dense) { ExpectShapes(DenseCases()); }
TEST(Shape, Elementwise) { ExpectShapes(ElementwiseCases()); }
TEST(Shape, Pooling) { ExpectShapes(PoolingCases()); }
TEST(Shape, BatchNorm) { ExpectShapes(BatchNormCases()); }
TEST(Shape, Sums) { ExpectShapes(SumCases()); }
TEST(Shape, LayerNorm) { ExpectShapes(LayerNormCases()); }
TEST(Shape, Lstm) { ExpectShapes(LstmCases()); }
TEST(Shape, Attention) { ExpectShapes(AttentionCases()); }
TEST(Shape, DotProductAttention) { ExpectShapes(DotProductAttentionCases()); }
TEST(Shape, Rearranging) { ExpectShapes(RearrangingCases()); }
TEST(Shape, Rows) { ExpectShapes(RowsCases()); }
TEST(Shape, Training) { ExpectShapes(TrainingCases()); }

TEST(Flops, CountMultiplyAddsTwice) {
  const Attributes attributes = *CompleteAttributes(*Ops().Find("conv2d"), {{"padding", Ints{1, 1, 1, 1}}});
  const TensorType x = F32({2, 28, 28, 3}), w = F32({16, 3, 3, 3});
  EXPECT_EQ(Ops().Find("conv2d")->flops({attributes, {&x, &w}, {F32({2, 28, 28, 16})}}), 2.0 * 2 * 28 * 28 * 16 * 27);
  const Attributes plain = *CompleteAttributes(*Ops().Find("matmul"), {});
  const TensorType a = F32({4, 6}), b = F32({6, 8});
  EXPECT_EQ(Ops().Find("matmul")->flops({plain, {&a, &b}, {F32({4, 8})}}), 2.0 * 4 * 6 * 8);
  const Attributes turned = *CompleteAttributes(*Ops().Find("batch_matmul"), {{"transpose_x", true}});
  const TensorType q = F32({5, 3, 6, 4}), k = F32({5, 3, 6, 8});
  EXPECT_EQ(Ops().Find("batch_matmul")->flops({turned, {&q, &k}, {F32({5, 3, 4, 8})}}), 2.0 * 5 * 3 * 4 * 6 * 8);
}

// 3 samples of 5 places; 4 units with 2 outputs: four products with w_h [2,16], one with the projection, and what is
// reckoned for the gates of a unit.
TEST(Flops, OfAnLstm) {
  const Attributes attributes = *CompleteAttributes(*Ops().Find("lstm"), {});
  const TensorType g = F32({3, 5, 16}), w_h = F32({2, 16}), w_projection = F32({4, 2}), whole = F32({4, 16});
  const auto flops = [&](const TensorType* recurrent, const TensorType* projection) {
    return Ops().Find("lstm")->flops({attributes, {&g, recurrent, projection, nullptr, nullptr, nullptr}, {}});
  };
  EXPECT_EQ(flops(&w_h, &w_projection), 3 * 5 * (2.0 * 2 * 16 + 2 * 4 * 2 + 4 * 60));
  EXPECT_EQ(flops(&whole, nullptr), 3 * 5 * (2.0 * 4 * 16 + 4 * 60)) << "without a projection";
}

// 3 samples, of which 2 places ask 5: a score is a sum over 7 units of a tangent and four flops, and weighs 6 channels.
TEST(Flops, OfAttention) {
  const TensorType query = F32({3, 2, 7}), keys = F32({3, 5, 7}), values = F32({3, 5, 6}), v = F32({7}),
                   gain = F32({1});
  const Attributes none;
  const NodeView node{none, {&query, &keys, &values, &v, &gain, &v, nullptr}, {}};
  EXPECT_EQ(Ops().Find("attention")->flops(node), 3 * 2 * 5 * (24.0 * 7 + 2 * 6));
}

// 3 samples, 2 queries and 5 keys, 4 heads: two products, of 7 and of 6 elements, and an exponential. The gradient
// makes the first again, and four more. Of a causal mask half is seen.
TEST(Flops, OfDotProductAttention) {
  const TensorType query = F32({3, 2, 4, 7}), keys = F32({3, 5, 2, 7}), values = F32({3, 5, 2, 6});
  const TensorType output = F32({3, 2, 4, 6}), lse = F32({3, 4, 2});
  for (const bool causal : {false, true}) {
    const Attributes attributes{{"causal", causal}};
    const double pairs = 3 * 2 * 5 * 4 * (causal ? 0.5 : 1);
    const NodeView node{attributes, {&query, &keys, &values, nullptr, nullptr, nullptr}, {}};
    EXPECT_EQ(Ops().Find("scaled_dot_product_attention")->flops(node), pairs * (2 * 7 + 2 * 6 + 20));
    const NodeView back{attributes, {&output, &output, &lse, &query, &keys, &values, nullptr, nullptr, nullptr}, {}};
    EXPECT_EQ(Ops().Find("scaled_dot_product_attention_grad")->flops(back), pairs * (3 * 2 * 7 + 2 * 2 * 6 + 20));
  }
}

TEST(Registry, SaysWhatAUserMayWrite) {
  for (const std::string op : {"input", "conv2d", "batch_norm", "softmax_cross_entropy", "accuracy"}) {
    EXPECT_TRUE(Ops().Find(op)->user) << op;
  }
  for (const std::string op : {"conv2d_input_grad", "batch_norm_running", "sgd", "learning_rate", "all_reduce"}) {
    EXPECT_FALSE(Ops().Find(op)->user) << op;
  }
  EXPECT_TRUE(Ops().Find("all_reduce")->move);
  EXPECT_EQ(Ops().Find("conv3d"), nullptr);
}

}  // namespace
}  // namespace partita
