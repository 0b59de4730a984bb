// What is refused, and with which words: the input or attribute, what was found, what is allowed.
#include <gtest/gtest.h>

#include <limits>

#include "ops/functors/elementwise.h"
#include "tests/ops/refusals/refusals.h"

namespace partita {
namespace {

using Ints = IntList;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

TEST(Refusal, Sources) {
  const auto parameter = [](const std::string& initializer, Ints shape, double scale = 1.0) {
    return Attributes{{"initializer", initializer}, {"shape", std::move(shape)}, {"scale", scale}};
  };
  ExpectRefused({
      {"input", {{"shape", Ints{}}}, {}, "attribute shape has 0 dimensions; 1 to 8 are allowed"},
      {"input", {{"shape", Ints(9, 1)}}, {}, "attribute shape has 9 dimensions; 1 to 8 are allowed"},
      {"input", {{"shape", Ints{4, -1}}}, {}, "attribute shape is [4,-1]; each number must be at least 1"},
      {"input", {{"shape", Ints{4, 0}}}, {}, "each number must be at least 1"},
      {"input", {{"shape", Ints{kMax}}}, {}, "attribute shape: "},
      {"input", {{"shape", Ints{int64_t{1} << 32, int64_t{1} << 32}}}, {}, "attribute shape: "},
      {"input",
       {{"shape", Ints{4}}, {"dtype", "f23"}},
       {},
       "attribute dtype is 'f23'; allowed are f32, f64, bf16, i32, u8"},
      {"parameter", parameter("he_norml", {3, 3}), {}, "did you mean he_normal?"},
      {"parameter", parameter("he_normal", {3}), {}, "initializer he_normal needs a shape [in,out] or [out,h,w,in]"},
      {"parameter", parameter("uniform", {3}, 0), {}, "attribute scale is 0; it must be finite and greater than 0"},
      {"parameter", parameter("constant", {3}, kNan), {}, "attribute scale is nan; it must be finite"},
      {"parameter", parameter("constant", {3}, 1e300), {}, "an f32 holds at most"},
      {"parameter", parameter("constant", {}), {}, "attribute shape has no dimensions"},
      {"constant",
       {{"shape", Ints{2}}, {"value", 256.0}, {"dtype", "u8"}},
       {},
       "an u8 holds whole numbers from 0 to 255"},
      {"constant", {{"shape", Ints{2}}, {"value", 0.5}, {"dtype", "i32"}}, {}, "holds whole numbers"},
      {"constant", {{"shape", Ints{2}}, {"value", kInfinity}}, {}, "attribute value is inf; it must be finite"},
  });
  Attributes integers = parameter("uniform", {3});
  integers.Set("dtype", "i32");
  ExpectRefused(
      {{"parameter", integers, {}, "gives f32 or f64, not i32"}, {"state", integers, {}, "gives f32 or f64, not i32"}});
}

TEST(Refusal, Convolution) {
  const TensorType x = F32({2, 5, 6, 4}), w = F32({6, 3, 3, 4}), y = F32({2, 3, 4, 6});
  const Attributes of_x = {{"shape", x.shape}};
  ExpectRefused({
      {"conv2d", {}, {F32({2, 5, 6}), w}, "input x has shape [2,5,6]; [n,h,w,c] is needed"},
      {"conv2d", {}, {x, F32({6, 3, 3})}, "input w has shape [6,3,3]; [out,h,w,in] is needed"},
      {"conv2d", {}, {x, F32({6, 3, 3, 5})}, "5 input channels; x has 4 in 1 groups: 4 are needed"},
      {"conv2d", {}, {x, F64({6, 3, 3, 4})}, "input w has element type f64; f32 is needed"},
      {"conv2d", {}, {I32({2, 5, 6, 4}), w}, "input x has element type i32; f32 or f64 is needed"},
      {"conv2d", {}, {x, F32({6, 7, 3, 4})}, "kernel height 7 with dilation 1 covers 7 elements, but the padded input"},
      {"conv2d", {{"dilation", Ints{1, 3}}}, {x, w}, "kernel width 3 with dilation 3 covers 7 elements"},
      {"conv2d", {{"stride", Ints{0, 1}}}, {x, w}, "attribute stride is [0,1]; each number must be at least 1"},
      {"conv2d", {{"stride", Ints{1}}}, {x, w}, "attribute stride has 1 numbers; 2 are needed"},
      {"conv2d", {{"dilation", Ints{1, 0}}}, {x, w}, "attribute dilation is [1,0]"},
      {"conv2d", {{"dilation", Ints{kMax, 1}}}, {x, w}, "does not fit in 64 bits"},
      {"conv2d",
       {{"padding", Ints{0, -1, 0, 0}}},
       {x, w},
       "attribute padding is [0,-1,0,0]; each number must be at least 0"},
      {"conv2d", {{"padding", Ints{1, 1}}}, {x, w}, "attribute padding has 2 numbers; 4 are needed"},
      {"conv2d", {{"padding", Ints{kMax, kMax, 0, 0}}}, {x, w}, "does not fit in 64 bits"},
      {"conv2d", {{"padding", Ints{kMax - 9, 1, 0, 0}}}, {x, w}, "the output: "},
      {"conv2d", {{"groups", int64_t{3}}}, {x, w}, "attribute groups is 3; it must divide the 4 input channels"},
      {"conv2d", {{"groups", int64_t{0}}}, {x, w}, "attribute groups is 0; it must be at least 1"},
      {"conv2d", {{"groups", kMin}}, {x, w}, "it must be at least 1"},
      {"conv2d", {{"strides", Ints{1, 1}}}, {x, w}, "stride"},
      {"conv2d", {{"stride", int64_t{1}}}, {x, w}, "stride"},
      {"conv2d", {}, {x}, "conv2d takes 2 inputs; 1 are given"},
      {"conv2d", {}, {x, std::nullopt}, "input w of conv2d is missing"},
      {"conv2d", {}, {F32({2, kMax, 6, 4}), w}, "input x: "},
      {"conv2d", {}, {F32({0, 5, 6, 4}), w}, "input x has shape [0,5,6,4]; every size must be at least 1"},
      {"conv2d_input_grad", {{"shape", Ints{2, 5, 6}}}, {F32({2, 3, 4, 6}), w}, "attribute shape has 3 dimensions"},
      {"conv2d_input_grad",
       {{"shape", Ints{2, 5, 6, 4}}},
       {F32({2, 3, 3, 6}), w},
       "input dy has shape [2,3,3,6]; [2,3,4,6]"},
      {"conv2d_input_grad_sum", of_x, {y}, "there are 1 inputs; dy and w of each convolution are needed"},
      {"conv2d_input_grad_sum", of_x, {y, w, F64({2, 3, 4, 6}), w}, "input dy has element type f64; f32 is needed"},
      {"conv2d_input_grad_sum", of_x, {y, w, y, F32({5, 3, 3, 4})}, "input dy has shape [2,3,4,6]; [2,3,4,5]"},
      {"conv2d_input_grad_sum",
       of_x,
       {y, w, F32({2, 5, 6, 6}), F32({6, 1, 1, 4})},
       "w has windows of 1 x 1, that before it of 3 x 3; they must be of one size"},
      {"conv2d_weight_grad", {{"shape", Ints{6, 3, 3, 4}}}, {x, F32({1, 3, 4, 6})}, "input dy has shape [1,3,4,6]"},
  });
}

TEST(Refusal, Elementwise) {
  for (const std::string& op : NamesOf(UnaryOps())) {
    ExpectRefused({{op, {}, {I32({4})}, "input x has element type i32"},
                   {op, {}, {F32(Shape(9, 1))}, "input x has 9 dimensions; at most 8 are allowed"},
                   {op, {}, {F32({4}), F32({4})}, op + " takes 1 inputs; 2 are given"}});
  }
  for (const std::string& op : NamesOf(BinaryOps())) {
    const bool broadcasts = PlaceOf(PairOps(), op) >= 0;
    ExpectRefused({{op, {}, {F32({3}), F64({3})}, "has element type f64; f32 is needed"},
                   {op, {}, {F32({3, 2}), F32({3})}, "has shape [3]; [3,2] is needed"}});
    if (!broadcasts) ExpectRefused({{op, {}, {F32({3, 1}), F32({3})}, "has shape [3]; [3,1] is needed"}});
  }
}

TEST(Refusal, Sums) {
  const Attributes rows = {{"axes", IntList{1}}, {"sizes", IntList{3}}};
  ExpectRefused({
      {"sum", {}, {I32({4})}, "input x has element type i32"},
      {"sum", {}, {F32({})}, "input x is a scalar; at least 1 dimension is needed"},
      {"sum", {{"axes", IntList{2}}}, {F32({4, 3})}, "attribute axes has 2; x has dimensions 0 to 1"},
      {"mean", {{"axes", IntList{-1}}}, {F32({4, 3})}, "attribute axes has -1; x has dimensions 0 to 1"},
      {"mean", {{"axes", IntList{1, 1}}}, {F32({4, 3})}, "attribute axes has 1 behind 1; rising ones are needed"},
      {"expand", {{"axes", IntList{}}, {"sizes", IntList{}}}, {F32({4})}, "attribute axes has 0 dimensions"},
      {"expand", {{"axes", IntList{2}}, {"sizes", IntList{3}}}, {F32({4})}, "attribute axes has 2; the result has"},
      {"expand", {{"axes", IntList{1}}, {"sizes", IntList{3, 3}}}, {F32({4})}, "attribute sizes"},
      {"expand", {{"axes", IntList{1}}, {"sizes", IntList{0}}}, {F32({4})}, "attribute sizes"},
      {"expand", rows, {I32({4})}, "input x has element type i32"},
      {"expand", rows, {F32(Shape(8, 1))}, "attribute axes has 1 dimensions beside those 8 of x"},
      {"scale", {{"factor", 2.0}}, {I32({4})}, "input x has element type i32"},
      {"over", {}, {F32({4}), F32({1})}, "input s has shape [1]; [] is needed (a scalar)"},
      {"mean_squared_error", {}, {F32({}), F32({}), std::nullopt}, "input predictions is a scalar; [n,...] is needed"},
      {"mean_squared_error", {}, {F32({4}), F32({4, 1}), std::nullopt}, "input targets has shape [4,1]; [4] is needed"},
      {"mean_squared_error",
       {},
       {F32({4}), I32({4}), std::nullopt},
       "input targets has element type i32; f32 is needed"},
      {"mean_squared_error", {}, {F32({4, 2}), F32({4, 2}), F32({2})}, "input sample_weight has shape [2]"},
  });
}

TEST(Refusal, Dense) {
  ExpectRefused({
      {"matmul",
       {},
       {F32({4, 6}), F32({5, 8})},
       "input w has shape [5,8]: its dimension 0 must be 6, as dimension 1 of x"},
      {"matmul", {{"transpose_w", true}}, {F32({4, 6}), F32({6, 8})}, "its dimension 1 must be 6"},
      {"matmul", {}, {F32({4, 6, 1, 1}), F32({6, 8})}, "input x has shape [4,6,1,1]; [m,k] or [n,t,k]"},
      {"matmul", {}, {F32({4, 6, 1}), F32({6, 8})}, "its dimension 0 must be 1, as dimension 2 of x"},
      {"matmul", {{"transpose_x", true}}, {F32({4, 6, 3}), F32({4, 5, 8})}, "[4,6,n] is needed, as x is [4,6,3]"},
      {"matmul",
       {{"transpose_x", true}, {"transpose_w", true}},
       {F32({4, 6, 3}), F32({8, 4})},
       "input x has shape [4,6,3]; [m,k] is needed"},
      {"matmul", {}, {F32({4, 6, 3}), F32({4, 3, 8})}, "input w has shape [4,3,8]; [k,n] is needed"},
      {"matmul", {}, {F32({int64_t{1} << 40, 1}), F32({1, int64_t{1} << 40})}, "the output: "},
      {"batch_matmul",
       {},
       {F32({4, 6}), F32({6, 8})},
       "inputs have shapes x [4,6] and y [6,8]; one of 3 to 5 dimensions and one of at least 2 are needed (matmul "
       "multiplies matrices)"},
      {"batch_matmul", {}, {F32({1, 2, 3, 4, 5, 6}), F32({6, 5})}, "shapes x [1,2,3,4,5,6] and y [6,5]; one of 3 to 5"},
      {"batch_matmul",
       {},
       {F32({4, 3, 6}), F32({6})},
       "shapes x [4,3,6] and y [6]; one of 3 to 5 dimensions and one of"},
      {"batch_matmul",
       {},
       {F32({4, 2, 3, 6}), F32({4, 3, 6, 8})},
       "input y has shape [4,3,6,8]: 3 stands where x [4,2,3,6] has 2; the same size or 1 is needed"},
      {"batch_matmul", {}, {F32({4, 2, 3, 6}), F32({4, 6, 8})}, "4 stands where x [4,2,3,6] has 2; the same size or 1"},
      {"batch_matmul",
       {},
       {F32({4, 3, 6}), F32({4, 5, 8})},
       "input y has shape [4,5,8]: its dimension 1 must be 6, as dimension 2 of x [4,3,6]"},
      {"batch_matmul",
       {{"transpose_x", true}, {"transpose_y", true}},
       {F32({4, 3, 6}), F32({4, 3, 8})},
       "input y has shape [4,3,8]: its dimension 2 must be 3, as dimension 1 of x [4,3,6]"},
      {"batch_matmul", {}, {F32({4, 3, 6}), F64({4, 6, 8})}, "input y has element type f64; f32 is needed"},
      {"batch_matmul", {}, {I32({4, 3, 6}), I32({4, 6, 8})}, "input x has element type i32"},
      {"batch_matmul", {}, {F32({1, int64_t{1} << 40, 1}), F32({1, 1, int64_t{1} << 40})}, "the output: "},
      {"bias", {}, {F32({4, 6}), F32({4})}, "input b has shape [4]; [6] is needed"},
      {"matmul_epilogue", {}, {F32({4, 6}), F32({6, 8}), F32({6})}, "input bias has shape [6]; [8] is needed"},
      {"matmul_epilogue", {}, {F32({4, 6}), F32({6, 8}), F64({8})}, "input bias has element type f64; f32 is needed"},
      {"matmul_epilogue", {{"activation", "rely"}}, {F32({4, 6}), F32({6, 8}), F32({8})}, "did you mean relu?"},
      {"matmul_bias_grad",
       {{"transpose_w", true}},
       {F32({4, 6}), F32({8, 6})},
       "bias_of=w needs transpose_w=false: its rows are added up"},
      {"matmul_bias_grad",
       {{"bias_of", std::string("x")}},
       {F32({4, 6}), F32({6, 8})},
       "bias_of=x needs transpose_x=true: its rows are added up"},
      {"matmul_bias_grad", {{"bias_of", std::string("y")}}, {F32({4, 6}), F32({6, 8})}, "bias_of"},
      {"matmul_relu_mask", {{"activation", std::string()}}, {F32({4, 6}), F32({6, 8}), F32({8})}, "activation"},
      {"matmul_relu_grad",
       {},
       {F32({4, 6}), F32({6, 8}), TensorType{DType::kU8, {4, 1}}},
       "input mask has shape [4,1]; [4,16] is needed"},
      {"matmul_relu_grad",
       {},
       {F32({4, 6}), F32({6, 8}), F32({4, 16})},
       "input mask has element type f32; u8 is needed"},
      {"bias", {}, {F32({4}), F32({4})}, "[n,c], [n,t,c] or [n,h,w,c] is needed"},
      {"add", {}, {}, "add takes at least 1 inputs; 0 are given"},
      {"add", {}, {F32({3}), F32({4})}, "input x[1] has shape [4]; [3] is needed, the same as before it, or that with"},
      {"mul", {}, {F32({5, 3}), F32({5})}, "input y has shape [5]; [5,3] is needed"},
      {"sub", {}, {F32({5, 3}), F64({3})}, "input y has element type f64; f32 is needed"},
      {"dropout",
       {{"rate", 1.0}},
       {F32({3}), std::nullopt},
       "attribute rate is 1; it must be at least 0 and less than 1"},
      {"noise", {{"distribution", "gamma"}}, {F32({3}), std::nullopt}, "attribute distribution"},
      {"noise", {{"distribution", "normal"}}, {I32({3}), std::nullopt}, "input x has element type i32"},
      {"positions", {{"axis", int64_t{2}}}, {F32({3, 4})}, "attribute axis is 2; x has 2 dimensions"},
      {"positions", {{"axis", int64_t{-1}}}, {F32({3, 4})}, "attribute axis is -1; x has 2 dimensions"},
      {"positions", {{"axis", int64_t{0}}}, {I32({3})}, "input x has element type i32"},
      {"positions", {}, {F32({3})}, "axis"},
      {"pixels", {}, {F32({3})}, "input bytes has element type f32; u8 is needed"},
      {"pixels", {{"dtype", "bf16"}}, {U8({3})}, "attribute dtype is bf16; numbers of pixels are f32 or f64"},
      {"pixels", {{"mean", "0.5,0.5"}}, {U8({3})}, "attribute mean is '0.5,0.5'; one finite number is needed"},
      {"pixels", {{"mean", "0.5,"}}, {U8({2})}, "one for each of 2 channels (at most 128)"},
      {"pixels", {{"mean", ""}}, {U8({2})}, "attribute mean is ''; one finite number"},
      {"pixels", {{"mean", "0,x"}}, {U8({2})}, "attribute mean is '0,x'; one finite number"},
      {"pixels", {{"deviation", "1,inf"}}, {U8({2})}, "attribute deviation is '1,inf'; one finite number"},
      {"pixels", {{"deviation", "0.5,0"}}, {U8({2})}, "attribute deviation is '0.5,0'; each must be above 0"},
      {"dropout", {{"rate", -0.1}}, {F32({3}), std::nullopt}, "attribute rate is -0.1"},
      {"dropout", {{"rate", kNan}}, {F32({3}), std::nullopt}, "attribute rate is nan"},
      {"dropout", {}, {F32({3}), std::nullopt}, "rate"},
      {"dropout", {{"rate", 0.5}}, {F32({3}), F32({})}, "input iteration has element type f32; i32 is needed"},
  });
}

TEST(Refusal, Pooling) {
  const TensorType x = F32({2, 5, 6, 4});
  ExpectRefused({
      {"max_pool", {{"kernel", Ints{6, 2}}}, {x}, "kernel height 6 with dilation 1 covers 6 elements"},
      {"max_pool", {{"kernel", Ints{0, 2}}}, {x}, "attribute kernel is [0,2]; each number must be at least 1"},
      {"max_pool", {{"kernel", Ints{}}}, {x}, "attribute kernel has 0 numbers; 2 are needed"},
      {"max_pool", {{"kernel", Ints{2, 2}}, {"stride", Ints{-1, 1}}}, {x}, "attribute stride is [-1,1]"},
      {"average_pool",
       {{"kernel", Ints{2, 2}}, {"padding", Ints{2, 0, 0, 0}}},
       {x},
       "must be less than the kernel's 2"},
      {"average_pool", {{"kernel", Ints{2, kMax}}, {"padding", Ints{0, 0, kMax - 1, kMax - 1}}}, {x}, "64 bits"},
      {"average_pool", {{"kernel", Ints{2, 2}}}, {F32({2, 5})}, "input x has shape [2,5]; [n,h,w,c] is needed"},
      {"max_pool_grad",
       {{"kernel", Ints{2, 2}}},
       {x, F32({2, 4, 5, 4}), F32({2, 4, 4, 4})},
       "input dy has shape [2,4,4,4]"},
      {"average_pool_grad", {{"kernel", Ints{2, 2}}, {"shape", Ints{2, 1, 6, 4}}}, {x}, "no output"},
      {"global_average_pool", {}, {F32({2, 5})}, "[n,h,w,c] is needed"},
      {"global_average_pool_grad", {{"shape", Ints{2, 5, 5, 3}}}, {F32({2, 4})}, "input dy has shape [2,4]; [2,3]"},
  });
}

TEST(Refusal, BatchNorm) {
  const TensorType x = F32({6, 4}), v = F32({4});
  const auto with = [](const std::string& name, Attribute value) { return Attributes{{name, std::move(value)}}; };
  ExpectRefused({
      {"batch_norm",
       {},
       {x, F32({6}), v, v, v},
       "input gamma has shape [6]; [4] is needed (one number for each channel"},
      {"batch_norm", {}, {x, v, v, v, F64({4})}, "input running_variance has element type f64"},
      {"batch_norm",
       with("epsilon", 0.0),
       {x, v, v, v, v},
       "attribute epsilon is 0; it must be finite and greater than 0"},
      {"batch_norm", with("momentum", 1.5), {x, v, v, v, v}, "attribute momentum is 1.5; it must lie between 0 and 1"},
      {"batch_norm",
       with("statistics_samples", int64_t{4}),
       {x, v, v, v, v},
       "it must divide the 6 samples of the batch"},
      {"batch_norm", with("statistics_samples", int64_t{-2}), {x, v, v, v, v}, "it must be at least 0"},
      {"batch_norm", with("statistics_samples", kMin), {x, v, v, v, v}, "it must be at least 0"},
      {"batch_norm", with("statistics_samples", kMax), {x, v, v, v, v}, "it must divide"},
      {"batch_norm", with("statistics_samples", int64_t{1}), {x, v, v, v, v}, "a variance needs at least 2"},
      {"batch_norm", {}, {F32({6, 4, 4}), v, v, v, v}, "[n,c] or [n,h,w,c] is needed"},
      {"batch_norm_normalize",
       with("samples", int64_t{3}),
       {x, F64({1, 2, 4}), v, v, v},
       "input stats has shape [1,2,4]; [2,2,4]"},
      {"batch_norm_normalize",
       with("samples", int64_t{3}),
       {x, F32({2, 2, 4}), v, v, v},
       "input stats has element type f32; f64 is needed"},
      {"batch_norm_normalize_add", {}, {x, F64({1, 2, 4}), v, v, v, F32({6, 5})}, "input residual has shape [6,5]"},
      {"batch_norm_forward_add", {}, {x, v, v, v, F64({6, 4})}, "input residual has element type f64"},
      {"batch_norm_gradient_sums_relu", {}, {x, x, F64({1, 2, 4}), v, v, v, F32({4, 6})}, "input y has shape [4,6]"},
      {"batch_norm_backward_relu", {}, {x, x, F64({1, 2, 4}), v, v, v, F64({6, 4})}, "input y has element type f64"},
      {"batch_norm_forward", {}, {x, v, F32({6}), v}, "input gamma has shape [6]; [4] is needed"},
      {"batch_norm_forward", with("epsilon", -1.0), {x, v, v, v}, "attribute epsilon is -1"},
      {"batch_norm_backward",
       with("samples", int64_t{3}),
       {x, x, F64({1, 2, 4}), v, v, v},
       "input stats has shape [1,2,4]; [2,2,4]"},
      {"batch_norm_running",
       with("count", int64_t{1}),
       {F64({1, 2, 4}), v, v, std::nullopt},
       "attribute count is 1; it must be at least 2"},
      {"batch_norm_running",
       with("count", int64_t{8}),
       {F64({1, 3, 4}), v, v, std::nullopt},
       "[groups,2,channels] is needed"},
      {"batch_norm_running",
       with("count", int64_t{8}),
       {F64({1, 2, 4}), v, F64({4}), std::nullopt},
       "input running_variance has element type f64; f32 is needed"},
  });
}

TEST(Refusal, Rearranging) {
  const TensorType x = F32({4, 6});
  const auto box = [](Ints begin, Ints size) {
    return Attributes{{"begin", std::move(begin)}, {"size", std::move(size)}};
  };
  ExpectRefused({
      {"concat", {{"axis", int64_t{2}}}, {x, x}, "attribute axis is 2; input x[0] has shape [4,6]: 0 to 1 are allowed"},
      {"concat", {{"axis", int64_t{-1}}}, {x, x}, "attribute axis is -1"},
      {"concat", {{"axis", kMax}}, {x, x}, "attribute axis is"},
      {"concat", {{"axis", int64_t{0}}}, {F32({})}, "attribute axis is 0"},
      {"concat", {{"axis", int64_t{1}}}, {x, F32({5, 6})}, "input x[1] has shape [5,6]; [4,6] is needed"},
      {"concat", {{"axis", int64_t{1}}}, {x, F32({4})}, "input x[1] has shape [4]; [4,6] is needed"},
      {"slice", box({0, 3}, {4, 4}), {x}, "leave shape [4,6] at dimension 1"},
      {"slice", box({0, kMax}, {4, 1}), {x}, "leave shape"},
      {"slice", box({0, 1}, {4, kMax}), {x}, "leave shape"},
      {"slice", box({-1, 0}, {4, 1}), {x}, "attribute begin is [-1,0]; each number must be at least 0"},
      {"slice", box({0, 0}, {4, 0}), {x}, "attribute size is [4,0]; each number must be at least 1"},
      {"slice", box({0}, {4}), {x}, "attribute begin has 1 numbers; 2 are needed"},
      {"slice_grad", {{"begin", Ints{3, 0}}, {"shape", Ints{6, 6}}}, {x}, "leave shape [6,6] at dimension 0"},
      {"slice_grad", {{"begin", Ints{0}}, {"shape", Ints{24}}}, {x}, "1 dimensions are needed"},
      {"reshape", {{"shape", Ints{5, -1}}}, {x}, "input x has shape [4,6] with 24 elements, which do not fill it"},
      {"reshape", {{"shape", Ints{5, 5}}}, {x}, "which do not fill it"},
      {"reshape",
       {{"shape", Ints{-1, 2, -1}}},
       {x},
       "attribute shape is [-1,2,-1]; its sizes 0 and 2 are -1, expected at most one -1"},
      {"reshape", {{"shape", Ints{-1, 0}}}, {x}, "attribute shape is [-1,0]; its size 1 is 0, expected at least 1"},
      {"reshape", {{"shape", Ints{kMax, kMax}}}, {x}, "its elements do not fit in 64 bits"},
      {"reshape", {{"shape", Ints(9, 1)}}, {F32({1})}, "attribute shape has 9 dimensions; at most 8"},
      {"cast", {{"dtype", "float"}}, {x}, "attribute dtype is 'float'; allowed are"},
      {"transpose",
       {{"permutation", Ints{1, 1}}},
       {x},
       "permutation is [1,1]; each of 0 to 1 is needed once, as x has"},
      {"transpose", {{"permutation", Ints{0, 2}}}, {x}, "each of 0 to 1 is needed once"},
      {"transpose", {{"permutation", Ints{0, -1}}}, {x}, "each of 0 to 1 is needed once"},
      {"transpose", {{"permutation", Ints{kMax, kMin}}}, {x}, "each of 0 to 1 is needed once"},
      {"transpose", {{"permutation", Ints{1, 0, 2}}}, {x}, "each of 0 to 1 is needed once"},
      {"transpose", {{"permutation", Ints{}}}, {F32({})}, "input x has shape []; 1 to 4 dimensions are needed"},
      {"transpose", {{"permutation", Ints{4, 3, 2, 1, 0}}}, {F32({1, 2, 3, 4, 5})}, "1 to 4 dimensions are needed"},
      {"transpose", {}, {x}, "permutation"},
  });
}

TEST(Refusal, LayerNorm) {
  const TensorType x = F32({4, 3, 6}), vector = F32({6});
  ExpectRefused({
      {"layer_norm", {}, {F32({6}), vector, vector}, "[n,c], [n,t,c] or [n,h,w,c] is needed"},
      {"layer_norm", {}, {x, F32({3}), vector}, "input gamma has shape [3]; [6] is needed (one number for each"},
      {"layer_norm", {}, {x, vector, F64({6})}, "input beta has element type f64; f32 is needed"},
      {"layer_norm",
       {{"epsilon", 0.0}},
       {x, vector, vector},
       "attribute epsilon is 0; it must be finite and greater than 0"},
      {"layer_norm_parameter_grad", {}, {x, x, F32({4, 3, 2})}, "input stats has element type f32; f64 is needed"},
      {"layer_norm_parameter_grad", {}, {x, x, F64({4, 3})}, "input stats has shape [4,3]; [4,3,2] is needed"},
  });
}

}  // namespace
}  // namespace partita
