#include "tests/ops/op_cases.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/optimizer/optimizer.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/epilogue.h"
#include "ops/registry.h"

namespace partita {
namespace {

using Ints = IntList;

CaseInput Free(Shape shape) { return {{DType::kF64, std::move(shape)}, true}; }
CaseInput Spread(Shape shape) { return {{DType::kF64, std::move(shape)}, true, Fill::kSpread, -3, 3}; }
CaseInput Fixed(Shape shape, double low = -1, double high = 1) {
  return {{DType::kF64, std::move(shape)}, false, Fill::kUniform, low, high};
}
CaseInput Statistics(Shape shape, double elements) {
  return {{DType::kF64, std::move(shape)}, true, Fill::kStatistics, 0, elements};
}
CaseInput Integers(Shape shape, int64_t below) {
  return {{DType::kI32, std::move(shape)}, false, Fill::kIntegers, 0, static_cast<double>(below)};
}

// What gates an update: the step is applied.
CaseInput Applied() { return {{DType::kI32, {}}, false, Fill::kIntegers, 1, 2}; }

class Cases {
 public:
  void Add(const std::string& op, const std::string& variant, const Attributes& attributes,
           std::vector<std::optional<CaseInput>> inputs) {
    const OpDefinition* definition = Ops().Find(op);
    CHECK(definition != nullptr);
    const absl::StatusOr<Attributes> complete = CompleteAttributes(*definition, attributes);
    CHECK(complete.ok());
    cases_.push_back({op + "/" + variant, op, *complete, std::move(inputs)});
  }
  std::vector<OpCase> Take() { return std::move(cases_); }

 private:
  std::vector<OpCase> cases_;
};

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
      {"all",
       {{"stride", Ints{2, 1}}, {"padding", Ints{2, 1, 0, 3}}, {"dilation", Ints{1, 2}}, {"groups", int64_t{2}}},
       {3, 6, 5, 4},
       {6, 3, 3, 2}},
      {"one_sample", {{"stride", Ints{4, 4}}}, {1, 9, 9, 1}, {1, 1, 1, 1}},
  };
}

struct PoolingCase {
  std::string variant;
  Attributes attributes;
  Shape x;
};

std::vector<PoolingCase> Poolings() {
  return {
      {"halves", {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}}, {2, 6, 4, 3}},
      {"remainder", {{"kernel", Ints{2, 3}}, {"stride", Ints{2, 3}}}, {3, 5, 7, 2}},
      {"overlap", {{"kernel", Ints{3, 3}}, {"stride", Ints{2, 1}}, {"padding", Ints{1, 1, 1, 1}}}, {2, 5, 5, 3}},
      {"uneven_padding", {{"kernel", Ints{3, 2}}, {"padding", Ints{2, 0, 0, 1}}}, {2, 4, 3, 5}},
      {"whole", {{"kernel", Ints{3, 5}}}, {2, 3, 5, 1}},
  };
}

struct BatchNormCase {
  std::string variant;
  Shape x;
  int64_t samples;
  double groups, elements;  // groups, and elements per group and channel
};

std::vector<BatchNormCase> BatchNorms() {
  return {{"image", {3, 4, 5, 3}, 0, 1, 60},          {"dense", {7, 5}, 0, 1, 7},
          {"groups", {6, 3, 3, 2}, 3, 2, 27},         {"dense_groups", {6, 3}, 2, 3, 2},
          {"single_samples", {3, 3, 5, 2}, 1, 3, 15}, {"one_group", {5, 3, 1, 3}, 5, 1, 15}};
}

Shape StatisticsOf(const BatchNormCase& c) { return {static_cast<int64_t>(c.groups), 2, c.x.back()}; }

void AddLinear(Cases& cases) {
  for (const ConvolutionCase& c : Convolutions()) cases.Add("conv2d", c.variant, c.attributes, {Free(c.x), Free(c.w)});
  cases.Add("matmul", "plain", {}, {Free({5, 7}), Free({7, 3})});
  cases.Add("matmul", "transpose_x", {{"transpose_x", true}}, {Free({7, 5}), Free({7, 3})});
  cases.Add("matmul", "transpose_w", {{"transpose_w", true}}, {Free({5, 7}), Free({3, 7})});
  cases.Add("matmul", "transpose_both", {{"transpose_x", true}, {"transpose_w", true}}, {Free({7, 5}), Free({3, 7})});
  cases.Add("matmul", "vector", {}, {Free({1, 9}), Free({9, 1})});
  cases.Add("bias", "dense", {}, {Free({5, 7}), Free({7})});
  cases.Add("bias", "image", {}, {Free({3, 2, 5, 3}), Free({3})});
}

void AddPooling(Cases& cases) {
  for (const PoolingCase& c : Poolings()) {
    cases.Add("max_pool", c.variant, c.attributes, {Spread(c.x)});
    for (const bool count : {true, false}) {
      Attributes attributes = c.attributes;
      attributes.Set("count_padding", count);
      cases.Add("average_pool", c.variant + (count ? "_counted" : "_inside"), attributes, {Free(c.x)});
    }
  }
  cases.Add("global_average_pool", "image", {}, {Free({3, 5, 4, 3})});
  cases.Add("global_average_pool", "pixel", {}, {Free({5, 1, 1, 7})});
}

void AddBatchNorm(Cases& cases) {
  for (const BatchNormCase& c : BatchNorms()) {
    const Shape channels = {c.x.back()};
    cases.Add("batch_norm_statistics", c.variant, {{"samples", c.samples}}, {Free(c.x), Fixed(channels)});
    for (const bool relu : {false, true}) {
      cases.Add("batch_norm_normalize", c.variant + (relu ? "_relu" : ""), {{"samples", c.samples}, {"relu", relu}},
                {Free(c.x), Statistics(StatisticsOf(c), c.elements), Fixed(channels), Free(channels), Free(channels)});
    }
  }
}

void AddElementwise(Cases& cases) {
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"vector", {7}}, {"dense", {5, 3}}, {"cube", {2, 3, 5}}, {"image", {3, 5, 3, 2}}, {"rank5", {2, 1, 3, 2, 3}}};
  for (const auto& [variant, shape] : shapes) {
    for (const std::string& op : NamesOf(UnaryOps())) cases.Add(op, variant, {}, {Spread(shape)});
    cases.Add("mul", variant, {}, {Free(shape), Free(shape)});
    for (const double rate : {0.0, 0.3}) {
      cases.Add("dropout", variant + (rate > 0 ? "_dropping" : "_keeping"), {{"rate", rate}, {"key", "dropped"}},
                {Free(shape), Integers({}, 1000)});
    }
    cases.Add("cast", variant, {{"dtype", "f64"}}, {Free(shape)});
  }
  cases.Add("add", "one", {}, {Free({5, 3})});
  cases.Add("add", "scalars", {}, {Free({}), Free({})});
  cases.Add("add", "three", {}, {Free({3, 5, 3, 2}), Free({3, 5, 3, 2}), Free({3, 5, 3, 2})});
}

void AddRearranging(Cases& cases) {
  cases.Add("concat", "samples", {{"axis", int64_t{0}}}, {Free({2, 3}), Free({5, 3})});
  cases.Add("concat", "channels", {{"axis", int64_t{3}}}, {Free({2, 3, 5, 1}), Free({2, 3, 5, 4}), Free({2, 3, 5, 2})});
  cases.Add("concat", "height", {{"axis", int64_t{1}}}, {Free({2, 3, 5, 3}), Free({2, 1, 5, 3})});
  cases.Add("concat", "single", {{"axis", int64_t{1}}}, {Free({2, 3})});
  cases.Add("slice", "channels", {{"begin", Ints{0, 2}}, {"size", Ints{5, 3}}}, {Free({5, 7})});
  cases.Add("slice", "box", {{"begin", Ints{1, 0, 2, 1}}, {"size", Ints{2, 5, 1, 1}}}, {Free({3, 5, 3, 3})});
  cases.Add("slice", "whole", {{"begin", Ints{0, 0}}, {"size", Ints{5, 7}}}, {Free({5, 7})});
  cases.Add("reshape", "flatten", {{"shape", Ints{3, 30}}}, {Free({3, 5, 2, 3})});
  cases.Add("reshape", "merge_leading", {{"shape", Ints{15, 6}}}, {Free({3, 5, 6})});
  cases.Add("reshape", "split_leading", {{"shape", Ints{3, 5, 6}}}, {Free({15, 6})});
  cases.Add("reshape", "keep_back", {{"shape", Ints{3, 10, 7}}}, {Free({3, 5, 2, 7})});
  cases.Add("reshape", "unequal_rows", {{"shape", Ints{4, 9, 5}}}, {Free({6, 6, 5})});
  cases.Add("reshape", "ones", {{"shape", Ints{1, 5, 1, 3}}}, {Free({5, 1, 3})});
}

void AddClassification(Cases& cases) {
  cases.Add("log_softmax", "dense", {}, {Free({5, 7})});
  for (const double smoothing : {0.0, 0.1}) {
    const std::string variant = smoothing > 0 ? "smoothed" : "plain";
    const Attributes attributes = {{"label_smoothing", smoothing}};
    cases.Add("softmax_cross_entropy", variant, attributes, {Free({5, 7}), Integers({5}, 7), std::nullopt});
    cases.Add("softmax_cross_entropy", variant + "_weighted", attributes,
              {Free({7, 3}), Integers({7}, 3), Fixed({7}, 0, 1)});
  }
}

// In pieces: maximum and sum are numbers of their own here, not those of the row.
void AddSplitSoftmax(Cases& cases) {
  const CaseInput sum{{DType::kF64, {5}}, true, Fill::kUniform, 0.5, 3};
  cases.Add("row_exponentials", "dense", {}, {Free({5, 7}), Fixed({5})});
  cases.Add("log_softmax_normalize", "dense", {}, {Free({5, 7}), Fixed({5}), sum});
  for (const double smoothing : {0.0, 0.1}) {
    for (const bool weighted : {false, true}) {
      cases.Add(
          "cross_entropy", std::string(smoothing > 0 ? "smoothed" : "plain") + (weighted ? "_weighted" : ""),
          {{"label_smoothing", smoothing}},
          {Free({5, 7}), Integers({5}, 7), weighted ? std::optional(Fixed({5}, 0, 1)) : std::nullopt, Fixed({5}), sum});
    }
  }
}

void AddSplitSoftmaxOthers(Cases& cases) {
  const CaseInput sum = Fixed({5}, 0.5, 3);
  cases.Add("row_maximum", "dense", {}, {Fixed({5, 7})});
  cases.Add("row_exponentials_grad", "dense", {}, {Fixed({5, 7}), Fixed({5}), Fixed({5})});
  cases.Add("log_softmax_normalize_grad", "dense", {}, {Fixed({5, 7}), sum});
  for (const bool weighted : {false, true}) {
    const std::optional<CaseInput> weight = weighted ? std::optional(Fixed({5}, 0, 1)) : std::nullopt;
    const std::string suffix = weighted ? "_weighted" : "";
    for (const double smoothing : {0.0, 0.1}) {
      cases.Add("cross_entropy_logits_grad", (smoothing > 0 ? "smoothed" : "plain") + suffix,
                {{"label_smoothing", smoothing}}, {Fixed({5, 7}), Integers({5}, 7), weight, Fixed({})});
    }
    cases.Add("cross_entropy_sum_grad", "dense" + suffix, {}, {sum, weight, Fixed({})});
  }
}

// Gradients of linear ops, for their kernels: inputs are free of one another.
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
  for (const PoolingCase& c : Poolings()) {
    for (const bool count : {true, false}) {
      Attributes attributes = c.attributes;
      attributes.Set("count_padding", count);
      const OpCase forward{
          "", "average_pool", *CompleteAttributes(*Ops().Find("average_pool"), attributes), {Free(c.x)}};
      const Shape y = ViewOf(forward).outputs[0].shape;
      attributes.Set("shape", c.x);
      cases.Add("average_pool_grad", c.variant + (count ? "_counted" : "_inside"), attributes, {Fixed(y)});
    }
  }
  cases.Add("global_average_pool_grad", "image", {{"shape", Ints{3, 5, 4, 3}}}, {Fixed({3, 3})});
  cases.Add("bias_grad", "dense", {}, {Fixed({5, 7})});
  cases.Add("bias_grad", "image", {}, {Fixed({3, 5, 2, 3})});
  cases.Add("slice_grad", "box", {{"begin", Ints{1, 0, 2, 1}}, {"shape", Ints{3, 5, 3, 3}}}, {Fixed({2, 5, 1, 1})});
  cases.Add("slice_grad", "channels", {{"begin", Ints{0, 2}}, {"shape", Ints{5, 7}}}, {Fixed({5, 3})});
}

// The bias is absent in every other convolution.
void AddEpilogues(Cases& cases) {
  const Attributes transposed = {{"transpose_x", true}};
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

void AddOtherGradients(Cases& cases) {
  for (const std::string& op : NamesOf(decltype(Wrapped<GradientOf>(UnaryOps()))())) {
    cases.Add(op, "image", {}, {Fixed({3, 5, 3, 2}), Fixed({3, 5, 3, 2})});
  }
  cases.Add("log_softmax_grad", "dense", {}, {Fixed({5, 7}, -3, 0), Fixed({5, 7})});
  for (const double smoothing : {0.0, 0.1}) {
    const std::string variant = smoothing > 0 ? "smoothed" : "plain";
    const Attributes attributes = {{"label_smoothing", smoothing}};
    cases.Add("softmax_cross_entropy_grad", variant, attributes,
              {Fixed({5, 7}), Integers({5}, 7), std::nullopt, Fixed({})});
    cases.Add("softmax_cross_entropy_grad", variant + "_weighted", attributes,
              {Fixed({7, 3}), Integers({7}, 3), Fixed({7}, 0, 1), Fixed({})});
  }
}

void AddBatchNormOthers(Cases& cases) {
  for (const BatchNormCase& c : BatchNorms()) {
    const Shape channels = {c.x.back()};
    const CaseInput stats = Statistics(StatisticsOf(c), c.elements);
    const CaseInput vector = Fixed(channels);
    cases.Add("batch_norm_statistics_grad", c.variant, {{"samples", c.samples}},
              {Fixed(c.x), vector, Fixed(StatisticsOf(c))});
    cases.Add("batch_norm_running", c.variant, {{"momentum", 0.2}, {"count", static_cast<int64_t>(c.elements)}},
              {stats, vector, Fixed(channels, 0.5, 2), std::nullopt});
    cases.Add("batch_norm_running", c.variant + "_gated",
              {{"momentum", 0.2}, {"count", static_cast<int64_t>(c.elements)}},
              {stats, vector, Fixed(channels, 0.5, 2), Applied()});
    for (const bool relu : {false, true}) {
      const std::string variant = c.variant + (relu ? "_relu" : "");
      const Attributes attributes = {{"samples", c.samples}, {"relu", relu}};
      std::vector<std::optional<CaseInput>> inputs = {Fixed(c.x), Fixed(c.x), stats, vector, vector, vector};
      cases.Add("batch_norm_gradient_sums", variant, attributes, inputs);
      cases.Add("batch_norm_normalize_input_grad", variant, attributes, inputs);
      inputs.push_back(Fixed(StatisticsOf(c)));
      cases.Add("batch_norm_input_grad", variant, attributes, inputs);
      cases.Add("batch_norm_inference", variant, {{"relu", relu}},
                {Fixed(c.x), vector, vector, vector, Fixed(channels, 0.5, 2)});
    }
  }
}

void AddUpdates(Cases& cases) {
  const Shape w = {5, 3, 3, 2};
  for (const bool clip : {false, true}) {
    const std::optional<CaseInput> scale = clip ? std::optional(Fixed({}, 0.2, 1)) : std::nullopt;
    const std::string suffix = clip ? "_clipped" : "";
    for (const double decay : {0.0, 0.01}) {
      const std::string variant = (decay > 0 ? "decay" : "plain") + suffix;
      cases.Add("sgd", variant, {{"weight_decay", decay}}, {Fixed(w), Fixed(w), Fixed({}, 0, 1), Applied(), scale});
      for (const bool nesterov : {false, true}) {
        cases.Add("sgd_momentum", variant + (nesterov ? "_nesterov" : ""),
                  {{"momentum", 0.9}, {"weight_decay", decay}, {"nesterov", nesterov}},
                  {Fixed(w), Fixed(w), Fixed(w), Fixed({}, 0, 1), Applied(), scale});
      }
    }
  }
  for (const OptimizerDefinition& optimizer : Ops().optimizers()) {
    const UpdateRule rule = optimizer.rule(CompleteOptimizer({optimizer.name, {}, 0}, Ops().optimizers())->attributes);
    std::vector<std::optional<CaseInput>> inputs(2, Fixed(w));
    inputs.insert(inputs.end(), rule.slots.size(), Fixed(w, 0.1, 1));
    inputs.insert(inputs.end(), {Fixed({}, 0, 1), Applied(), std::nullopt});
    if (inputs.size() < Ops().Find(rule.op)->inputs.size()) inputs.push_back(Integers({}, 60));
    cases.Add(rule.op, "default", rule.attributes, inputs);
  }
  for (const std::string schedule : {"constant", "step", "cosine", "exponential", "one_cycle"}) {
    cases.Add(
        "learning_rate", schedule,
        {{"dtype", "f64"}, {"schedule", schedule}, {"base", 0.1}, {"steps", int64_t{50}}, {"decay_steps", int64_t{7}}},
        {Integers({}, 60)});
  }
  cases.Add("increment", "step", {}, {Integers({}, 1000), Applied()});
  cases.Add("all_finite", "loss", {}, {Fixed({}), std::nullopt});
  cases.Add("all_finite", "norm", {}, {Fixed({}), Fixed({}, 1, 2)});
  cases.Add("sum_of_squares", "image", {}, {Fixed(w)});
  cases.Add("sum_of_squares", "vector", {}, {Fixed({7})});
  cases.Add("clip_scale", "above", {{"max_norm", 0.5}}, {Fixed({}, 1, 2)});
  cases.Add("clip_scale", "below", {{"max_norm", 5.0}}, {Fixed({}, 1, 2)});
  cases.Add("accuracy", "plain", {}, {Fixed({7, 5}), Integers({7}, 5), std::nullopt});
  cases.Add("accuracy", "weighted", {}, {Fixed({7, 5}), Integers({7}, 5), Fixed({7}, 0, 1)});
  cases.Add("constant", "float", {{"dtype", "f64"}, {"shape", Ints{3, 5}}, {"value", 2.5}}, {});
}

double Draw(std::mt19937_64& generator, double low, double high) {
  return low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
}

}  // namespace

std::vector<OpCase> GradientCases() {
  Cases cases;
  AddLinear(cases);
  AddPooling(cases);
  AddBatchNorm(cases);
  AddElementwise(cases);
  AddRearranging(cases);
  AddClassification(cases);
  AddSplitSoftmax(cases);
  return cases.Take();
}

std::vector<OpCase> KernelCases() {
  Cases cases;
  AddLinearGradients(cases);
  AddEpilogues(cases);
  AddOtherGradients(cases);
  AddSplitSoftmaxOthers(cases);
  AddBatchNormOthers(cases);
  AddUpdates(cases);
  std::vector<OpCase> all = GradientCases();
  for (OpCase& op_case : cases.Take()) all.push_back(std::move(op_case));
  return all;
}

OpCase InF32(OpCase op_case) {
  const std::vector<InputDefinition>& inputs = Ops().Find(op_case.op)->inputs;
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    std::optional<CaseInput>& input = op_case.inputs[i];
    const std::string& name = inputs[std::min(i, inputs.size() - 1)].name;
    if (name == "stats" || name == "dstats") continue;  // f64 in every precision
    if (input && input->type.dtype == DType::kF64) input->type.dtype = DType::kF32;
  }
  if (op_case.attributes.Has("dtype")) op_case.attributes.Set("dtype", "f32");
  return op_case;
}

std::vector<double> CaseValues(const CaseInput& input, uint64_t seed) {
  std::mt19937_64 generator(seed);
  const size_t count = static_cast<size_t>(Elements(input.type.shape));
  std::vector<double> values(count);
  if (input.fill == Fill::kSpread) {
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator() % i]);
    const double step = (input.high - input.low) / static_cast<double>(count);
    for (size_t i = 0; i < count; ++i) values[i] = input.low + step * (static_cast<double>(order[i]) + 0.25);
  } else if (input.fill == Fill::kStatistics) {
    const size_t channels = static_cast<size_t>(input.type.shape[2]);
    for (size_t i = 0; i < count; ++i) {
      const bool squares = i / channels % 2 == 1;
      values[i] = input.high * (squares ? Draw(generator, 1, 2) : Draw(generator, -0.5, 0.5));
    }
  } else {
    for (double& value : values) value = Draw(generator, input.low, input.high);
    if (input.fill == Fill::kIntegers) {
      for (double& value : values) value = std::floor(value);
    }
  }
  return values;
}

NodeView ViewOf(const OpCase& op_case) {
  NodeView view{op_case.attributes, {}, {}};
  for (const std::optional<CaseInput>& input : op_case.inputs) view.inputs.push_back(input ? &input->type : nullptr);
  absl::StatusOr<std::vector<TensorType>> outputs = Ops().Find(op_case.op)->shape(view);
  if (!outputs.ok()) std::fprintf(stderr, "%s: %s\n", op_case.name.c_str(), outputs.status().ToString().c_str());
  CHECK(outputs.ok());
  view.outputs = *std::move(outputs);
  return view;
}

}  // namespace partita
