// The table of nodes that all host kernels are run on.
#include <algorithm>

#include "graph/ir/op_definition.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/epilogue.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/case_table.h"

namespace partita {
namespace {

using Ints = IntList;

struct ConvolutionSizes {
  Shape x;
  int64_t out_c;
  Ints kernel, stride, padding, dilation;
  int64_t groups;
};

void AddConvolution(CaseTable& table, const ConvolutionSizes& s) {
  Attributes attributes{{"stride", s.stride}, {"padding", s.padding}, {"dilation", s.dilation}, {"groups", s.groups}};
  const Shape w{s.out_c, s.kernel[0], s.kernel[1], s.x[3] / s.groups};
  const LocalNode forward = WholeNode("conv2d", attributes, {F32(s.x), F32(w)});
  const Shape y = forward.outputs[0].global;
  table.Add("conv2d", attributes, {F32(s.x), F32(w)});
  attributes.Set("shape", s.x);
  table.Add("conv2d_input_grad", attributes, {F32(y), F32(w)});
  attributes.Set("shape", w);
  table.Add("conv2d_weight_grad", attributes, {F32(s.x), F32(y)});
}

void AddConvolutions(CaseTable& table) {
  const std::vector<ConvolutionSizes> sizes = {
      {{3, 7, 9, 1}, 5, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{2, 8, 8, 16}, 24, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {{2, 9, 7, 5}, 7, {3, 2}, {2, 3}, {1, 0, 0, 1}, {1, 1}, 1},
      {{2, 11, 11, 4}, 6, {3, 3}, {1, 2}, {2, 2, 2, 2}, {2, 3}, 1},
      {{2, 8, 8, 12}, 8, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4},
      {{2, 8, 6, 16}, 16, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 16},
      {{1, 5, 5, 3}, 2, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 1},
      {{4, 14, 14, 32}, 48, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{2, 6, 6, 3}, 33, {1, 7}, {1, 1}, {0, 0, 3, 3}, {1, 1}, 1},
      {{1, 3, 3, 2}, 3, {3, 3}, {3, 3}, {2, 2, 2, 2}, {1, 1}, 1},
      {{2, 13, 29, 40}, 13, {3, 2}, {2, 1}, {1, 2, 0, 1}, {1, 3}, 1},
      {{3, 12, 11, 27}, 40, {1, 7}, {1, 2}, {0, 0, 3, 3}, {1, 1}, 1},
      {{1, 31, 40, 54}, 20, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
      {{1, 2, 2, 24}, 8, {3, 3}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 1},
      {{1, 3, 2, 520}, 505, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {{2, 9, 11, 37}, 37, {7, 7}, {1, 1}, {3, 3, 3, 3}, {1, 1}, 37},
      {{4, 30, 31, 72}, 72, {5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}, 72},
      {{2, 9, 8, 32}, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 8},
  };
  for (const ConvolutionSizes& s : sizes) AddConvolution(table, s);
}

// What convolutions of single pixels add to the cotangent of their images: too little for two threads, and enough.
void AddGradientSums(CaseTable& table) {
  const auto add = [&table](const Shape& x, const std::vector<int64_t>& out_channels) {
    Types inputs;
    for (const int64_t out_c : out_channels) {
      inputs.push_back(F32({x[0], x[1], x[2], out_c}));
      inputs.push_back(F32({out_c, 1, 1, x[3]}));
    }
    table.Add("conv2d_input_grad_sum", {{"shape", x}}, inputs);
  };
  add({2, 5, 7, 11}, {3, 8, 17});
  add({2, 19, 23, 40}, {24, 33});
  add({1, 2, 3, 4}, {5});
}

void AddMatMuls(CaseTable& table) {
  for (const bool x : {false, true}) {
    for (const bool w : {false, true}) {
      for (const auto& [m, n, k] :
           std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {7, 10, 13}, {65, 33, 300}, {5, 600, 64}}) {
        table.Add("matmul", {{"transpose_x", x}, {"transpose_w", w}},
                  {F32(x ? Shape{k, m} : Shape{m, k}), F32(w ? Shape{n, k} : Shape{k, n})});
      }
    }
  }
}

// Large enough to be packed: of more columns than rows, and of more rows; of a depth that is more than a tile's.
void AddPackedProducts(CaseTable& table) {
  for (const bool x : {false, true}) {
    for (const bool w : {false, true}) {
      for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{70, 130, 290}, {171, 67, 100}}) {
        const Types operands = {F32(x ? Shape{k, m} : Shape{m, k}), F32(w ? Shape{n, k} : Shape{k, n})};
        table.Add("matmul", {{"transpose_x", x}, {"transpose_w", w}}, operands);
        Types biased = operands;
        biased.push_back(F32({n}));
        if (x == w) table.Add("matmul_epilogue", {{"transpose_x", x}, {"transpose_w", w}}, biased);
      }
    }
  }
}

// Of operands whose rows can be added up.
void AddBiasGradients(CaseTable& table) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {7, 10, 13}, {33, 65, 300}}) {
    for (const bool other : {false, true}) {
      table.Add("matmul_bias_grad", {{"transpose_x", other}, {"bias_of", std::string("w")}},
                {F32(other ? Shape{k, m} : Shape{m, k}), F32({k, n})});
      table.Add("matmul_bias_grad", {{"transpose_x", true}, {"transpose_w", other}, {"bias_of", std::string("x")}},
                {F32({k, m}), F32(other ? Shape{n, k} : Shape{k, n})});
    }
  }
}

// Of rows that fill their masks, and of one element more and less than a byte.
void AddReluMasks(CaseTable& table) {
  const auto mask = [](Shape shape) { return TensorType{DType::kU8, std::move(shape)}; };
  for (const bool other : {false, true}) {
    for (const int64_t n : {1, 7, 129, 256}) {
      const TensorType x = F32(other ? Shape{13, 5} : Shape{5, 13}), w = F32(other ? Shape{n, 13} : Shape{13, n});
      const Attributes attributes{{"transpose_x", other}, {"transpose_w", other}};
      table.Add("matmul_relu_mask", attributes, {x, w, other ? std::nullopt : std::optional<TensorType>(F32({n}))});
      table.Add("matmul_relu_grad", attributes, {x, w, mask({5, (n + 127) / 128 * 16})});
    }
  }
  table.Add("matmul_relu_mask", {}, {F32({3, 11, 13}), F32({13, 10}), F32({10})});
  table.Add("matmul_relu_grad", {{"transpose_w", true}}, {F32({3, 11, 13}), F32({10, 13}), mask({3, 11, 16})});
}

void AddPooling(CaseTable& table) {
  struct Sizes {
    Shape x;
    Ints kernel, stride, padding;
  };
  const std::vector<Sizes> sizes = {
      {{3, 8, 8, 32}, {2, 2}, {2, 2}, {0, 0, 0, 0}},   {{2, 7, 9, 13}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {{2, 9, 8, 5}, {3, 2}, {2, 2}, {1, 0, 0, 1}},    {{1, 7, 7, 1}, {2, 2}, {3, 3}, {0, 0, 0, 0}},
      {{8, 28, 28, 24}, {3, 3}, {2, 2}, {1, 1, 1, 1}}, {{1, 4, 5, 531}, {3, 3}, {2, 2}, {0, 1, 1, 0}},
      {{2, 6, 10, 13}, {2, 2}, {2, 2}, {0, 0, 0, 0}},  {{2, 5, 7, 21}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {{1, 4, 6, 11}, {2, 2}, {2, 2}, {1, 1, 1, 1}},   {{2, 5, 4, 19}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{2, 7, 6, 12}, {3, 3}, {2, 2}, {1, 1, 1, 1}},   {{1, 5, 5, 4}, {3, 2}, {1, 2}, {1, 1, 0, 1}},
  };
  for (const Sizes& s : sizes) {
    Attributes attributes{{"kernel", s.kernel}, {"stride", s.stride}, {"padding", s.padding}};
    const Shape y = WholeNode("max_pool", attributes, {F32(s.x)}).outputs[0].global;
    table.Add("max_pool", attributes, {F32(s.x)});
    table.Add("max_pool_grad", attributes, {F32(s.x), F32(y), F32(y)});
    for (const bool count_padding : {true, false}) {
      attributes.Set("count_padding", count_padding);
      attributes.Remove("shape");
      table.Add("average_pool", attributes, {F32(s.x)});
      attributes.Set("shape", s.x);
      table.Add("average_pool_grad", attributes, {F32(y)});
    }
    table.Add("global_average_pool", {}, {F32(s.x)});
    table.Add("global_average_pool_grad", {{"shape", s.x}}, {F32({s.x[0], s.x[3]})});
  }
}

void AddBatchNorm(CaseTable& table, const Shape& shape, int64_t samples, bool relu) {
  const int64_t c = shape.back();
  const TensorType x = F32(shape), vector = F32({c});
  const TensorType stats{DType::kF64, {samples == 0 ? 1 : shape[0] / samples, 2, c}};
  const Attributes grouped{{"samples", samples}};
  Attributes attributes{{"samples", samples}, {"epsilon", 1e-3}, {"relu", relu}};
  table.Add("batch_norm_statistics", grouped, {x, vector});
  table.Add("batch_norm_forward", attributes, {x, vector, vector, vector});
  table.Add("batch_norm_backward", attributes, {x, x, stats, vector, vector, vector});
  table.Add("batch_norm_forward_add", attributes, {x, vector, vector, vector, x});
  table.Add("batch_norm_backward_relu", attributes, {x, x, stats, vector, vector, vector, x});
  table.Add("batch_norm_normalize_add", attributes, {x, stats, vector, vector, vector, x});
  table.Add("batch_norm_gradient_sums_relu", attributes, {x, x, stats, vector, vector, vector, x});
  table.Add("batch_norm_statistics_grad", grouped, {x, vector, stats});
  table.Add("batch_norm_normalize", attributes, {x, stats, vector, vector, vector});
  table.Add("batch_norm_gradient_sums", attributes, {x, x, stats, vector, vector, vector});
  table.Add("batch_norm_normalize_input_grad", attributes, {x, x, stats, vector, vector, vector});
  table.Add("batch_norm_input_grad", attributes, {x, x, stats, vector, vector, vector, stats});
  attributes.Remove("samples");
  table.Add("batch_norm_inference", attributes, {x, vector, vector, vector, vector});
  table.Add("batch_norm_running", {{"momentum", 0.1}, {"count", int64_t{50}}}, {stats, vector, vector, std::nullopt});
  table.Add("batch_norm_running", {{"momentum", 0.1}, {"count", int64_t{50}}}, {stats, vector, vector, I32({})});
}

void AddBatchNorms(CaseTable& table) {
  AddBatchNorm(table, {4, 5, 7, 3}, 0, false);
  AddBatchNorm(table, {4, 5, 7, 24}, 2, true);
  AddBatchNorm(table, {8, 28, 28, 32}, 0, true);
  AddBatchNorm(table, {6, 300}, 3, true);
  AddBatchNorm(table, {64, 7}, 0, false);
}

const std::vector<Shape>& kShapes = *new std::vector<Shape>{{3, 5}, {4, 40, 40, 24}, {2, 3, 3, 1}, {70000, 1}};

void AddElementwise(CaseTable& table) {
  for (const Shape& shape : kShapes) {
    const TensorType x = F32(shape), vector = F32({shape.back()});
    table.Add("add", {}, {x});
    table.Add("add", {}, {x, x});
    table.Add("add", {}, {x, x, x, x});
    table.Add("masked", {}, {x, x});
    table.Add("bias", {}, {x, vector});
    table.Add("bias_grad", {}, {x});
    table.Add("bias_grad_relu", {}, {x, x});
    table.Add("dropout", {{"rate", 0.3}, {"key", std::string("forward")}}, {x, I32({})});
    table.Add("dropout", {{"rate", 0.5}, {"key", std::string("forward")}}, {x, std::nullopt});
    table.Add("dropout", {{"rate", 0.3}, {"key", std::string("forward")}, {"first_sample", int64_t{5}}}, {x, I32({})});
    for (const char* const distribution : {"normal", "uniform"}) {
      table.Add("noise", {{"distribution", std::string(distribution)}, {"key", std::string("drawn")}}, {x, I32({})});
    }
    table.Add("positions", {{"axis", static_cast<int64_t>(shape.size()) - 1}}, {x});
    table.Add("positions", {{"axis", int64_t{0}}, {"first_sample", int64_t{5}}}, {x});
    table.Add("reshape", {{"shape", Ints{Elements(shape)}}}, {x});
    table.Add("cast", {{"dtype", std::string("i32")}}, {x});
    table.Add("sum_of_squares", {}, {x});
    const Attributes decay{{"weight_decay", 0.01}};
    table.Add("sgd", decay, {x, x, F32({}), I32({}), std::nullopt});
    table.Add("sgd", decay, {x, x, F32({}), I32({}), F32({})});
    for (const bool nesterov : {false, true}) {
      table.Add("sgd_momentum", {{"weight_decay", 0.01}, {"momentum", 0.9}, {"nesterov", nesterov}},
                {x, x, x, F32({}), I32({}), F32({})});
    }
  }
}

void AddShaping(CaseTable& table) {
  table.Add("halo_exchange_adjoint", {{"axes", "a"}}, {F32({2, 5, 3, 4})});
  table.Add("concat", {{"axis", int64_t{3}}}, {F32({3, 5, 4, 7}), F32({3, 5, 4, 1}), F32({3, 5, 4, 16})});
  table.Add("concat", {{"axis", int64_t{0}}}, {F32({3, 5}), F32({1, 5})});
  table.Add("concat", {{"axis", int64_t{1}}}, {F32({16, 1200, 9}), F32({16, 3, 9})});
  const std::vector<std::pair<Ints, Shape>> parts = {{{0, 0, 0, 8}, {24, 14, 14, 24}}, {{1, 2, 3, 4}, {2, 5, 6, 7}},
                                                     {{0, 3, 0, 0}, {24, 4, 14, 40}},  {{2, 0, 0, 0}, {1, 14, 14, 40}},
                                                     {{0, 0, 0, 0}, {24, 14, 14, 40}}, {{5, 13, 0, 39}, {1, 1, 14, 1}}};
  for (const auto& [begin, size] : parts) {
    table.Add("slice", {{"begin", begin}, {"size", size}}, {F32({24, 14, 14, 40})});
    table.Add("slice_grad", {{"begin", begin}, {"shape", Ints{24, 14, 14, 40}}}, {F32(size)});
  }
}

// Of matrices, of what turns in a batch, of cells that stay together, and where nothing moves.
void AddTransposes(CaseTable& table) {
  const std::vector<std::pair<Ints, Shape>> cases = {{{1, 0}, {3, 5}},
                                                     {{1, 0}, {67, 130}},
                                                     {{0, 2, 1}, {3, 33, 40}},
                                                     {{2, 0, 1}, {9, 4, 17}},
                                                     {{2, 1, 0}, {7, 5, 6}},
                                                     {{0, 2, 1, 3}, {2, 5, 3, 8}},
                                                     {{0, 3, 1, 2}, {2, 7, 9, 5}},
                                                     {{3, 1, 2, 0}, {4, 3, 5, 35}},
                                                     {{1, 3, 0, 2}, {3, 4, 2, 5}},
                                                     {{0, 1, 2}, {3, 5, 4}},
                                                     {{1, 0, 2}, {1, 6, 7}},
                                                     {{0}, {11}}};
  for (const auto& [permutation, shape] : cases) {
    table.Add("transpose", {{"permutation", permutation}}, {F32(shape)});
  }
  table.Add("transpose", {{"permutation", Ints{1, 0}}}, {I32({5, 9})});
  table.Add("transpose", {{"permutation", Ints{1, 0}}}, {TensorType{DType::kU8, {35, 9}}});
}

void AddLayerNorms(CaseTable& table) {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{6, 7}, Shape{3, 5, 33}, Shape{2, 3, 4, 24}, Shape{70, 300}, Shape{900, 16}}) {
    const TensorType x = F32(shape), vector = F32({shape.back()});
    Shape rows(shape.begin(), shape.end() - 1);
    rows.push_back(2);
    table.Add("layer_norm", {{"epsilon", 1e-3}}, {x, vector, vector});
    table.Add("layer_norm_input_grad", {{"epsilon", 1e-3}}, {x, x, vector});
    table.Add("layer_norm_parameter_grad", {}, {x, x, TensorType{DType::kF64, rows}});
  }
}

// One run of dimensions and several; few and many sums, of few and of many terms.
void AddSums(CaseTable& table) {
  const std::vector<std::pair<Shape, Ints>> sums = {
      {{70000}, {}},        {{3, 5}, {1}},         {{700, 40}, {1}},    {{3000, 7}, {0}}, {{130, 5, 7, 24}, {1, 2}},
      {{2, 9, 7, 33}, {1}}, {{4, 5, 300}, {0, 2}}, {{3, 2, 3}, {0, 2}}, {{5, 1, 3}, {1}}, {{6, 130, 2, 3}, {0, 1, 3}}};
  for (const auto& [shape, axes] : sums) {
    Shape kept;
    Ints sizes;
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool summed = axes.empty() || std::ranges::count(axes, static_cast<int64_t>(d)) > 0;
      (summed ? sizes : kept).push_back(shape[d]);
    }
    const Ints places = axes.empty() ? Ints{0} : axes;
    table.Add("sum", {{"axes", axes}}, {F32(shape)});
    table.Add("mean", {{"axes", axes}}, {F32(shape)});
    table.Add("mean", {{"axes", axes}, {"batch", int64_t{101}}, {"keep_sizes", true}}, {F32(shape)});
    table.Add("expand", {{"axes", places}, {"sizes", sizes}}, {F32(kept)});
    for (const auto& [dtype, divisor] : std::vector<std::pair<std::string, double>>{{"f32", 6}, {"bf16", 8}}) {
      table.Add("sum_grad", {{"axes", places}, {"sizes", sizes}, {"dtype", dtype}, {"divisor", divisor}},
                {std::nullopt, F32(kept)});
    }
  }
}

void AddScalars(CaseTable& table) {
  table.Add("constant", {{"dtype", std::string("f32")}, {"shape", Ints{3, 4}}, {"value", 2.5}}, {});
  table.Add("increment", {}, {I32({}), I32({})});
  table.Add("all_finite", {}, {F32({}), std::nullopt});
  table.Add("all_finite", {}, {F32({}), F32({})});
  table.Add("clip_scale", {{"max_norm", 0.5}}, {F32({})});
  table.Add(
      "learning_rate",
      {{"dtype", std::string("f32")}, {"schedule", std::string("one_cycle")}, {"base", 0.1}, {"steps", int64_t{100}}},
      {I32({})});
}

void AddCasts(CaseTable& table) {
  for (const char* dtype : {"f64", "bf16"}) {
    for (const int64_t elements : {1, 13, 100'003}) {
      table.Add("cast", {{"dtype", std::string(dtype)}}, {F32({elements})});
    }
  }
}

// Of every convolution and product: with every activation or none, with and without a bias; the last has neither.
void AddEpilogues(CaseTable& table) {
  const std::vector<KernelCase> products = table.cases;
  for (const KernelCase& c : products) {
    const std::string& op = c.node.op->name;
    if (op != "conv2d" && op != "matmul") continue;
    const TensorType x = F32(c.node.inputs[0]->global), w = F32(c.node.inputs[1]->global);
    std::vector<std::string> activations = NamesOf(EpilogueOps());
    activations.push_back("");
    for (const std::string& activation : activations) {
      Attributes attributes = c.node.attributes;
      attributes.Set("activation", activation);
      table.Add(op + "_epilogue", attributes, {x, w, F32({c.node.outputs[0].global.back()})});
      table.Add(op + "_epilogue", attributes, {x, w, std::nullopt});
      if (op != "matmul") continue;
      attributes.Set("wide", true);
      table.Add(op + "_epilogue", attributes, {x, w, F32({c.node.outputs[0].global.back()})});
    }
  }
}

// Of one mean for all, of one for each of as many channels as loops are made for and of others.
void AddPixels(CaseTable& table) {
  const auto add = [&table](Shape shape, const char* mean, const char* deviation) {
    table.Add("pixels", {{"mean", std::string(mean)}, {"deviation", std::string(deviation)}},
              {TensorType{DType::kU8, std::move(shape)}});
  };
  add({5, 131}, "0.2860406", "0.35302424");
  add({2, 7, 9, 1}, "0.2860406", "0.35302424");
  add({2, 151, 150, 3}, "0.485,0.456,0.406", "0.229,0.224,0.225");
  add({3, 2, 3, 2}, "0.485,-0.25", "0.5");
}

// Of the list in ops/functors/elementwise.h.
void AddListed(CaseTable& table) {
  for (const Shape& shape : kShapes) {
    const TensorType x = F32(shape);
    for (const std::string& op : NamesOf(UnaryOps())) table.Add(op, {}, {x});
    for (const std::string& op : NamesOf(BinaryOps())) table.Add(op, {}, {x, x});
    table.Add("scale", {{"factor", -0.3}}, {x});
    table.Add("over", {}, {x, F32({})});
    table.Add("stop_gradient", {}, {x});
  }
}

CaseTable MakeTable() {
  CaseTable table;
  AddConvolutions(table);
  AddGradientSums(table);
  AddMatMuls(table);
  AddBiasGradients(table);
  AddReluMasks(table);
  AddPooling(table);
  AddBatchNorms(table);
  AddElementwise(table);
  AddUpdates(table);
  AddShaping(table);
  AddTransposes(table);
  AddLayerNorms(table);
  AddRecurrences(table);
  AddLosses(table);
  AddSequenceLosses(table);
  AddSplitSoftmax(table);
  AddRows(table);
  AddMergedRows(table);
  AddSampledSoftmax(table);
  AddSums(table);
  AddErrors(table);
  AddScalars(table);
  AddCasts(table);
  AddEpilogues(table);
  AddPackedProducts(table);
  AddListed(table);
  AddSequenceProducts(table);
  AddAttention(table);
  AddDotProductAttention(table);
  AddPixels(table);
  AddBatchProducts(table);
  AddSharedProducts(table);
  AddExpansions(table);
  return table;
}

}  // namespace

const std::vector<KernelCase>& AllCases() {
  static const CaseTable table = MakeTable();
  return table.cases;
}

}  // namespace partita
