// Random inputs that suit an op.
#include <cmath>

#include "graph/ir/op_definition.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

// "" of the inputs of a variadic op behind the first.
std::string InputName(const LocalNode& node, size_t input) {
  const size_t own = input % (node.inputs.size() / static_cast<size_t>(node.members));
  return own < node.op->inputs.size() ? node.op->inputs[own].name : "";
}

bool IsPositive(const std::string& op, size_t input, const std::string& name) {
  const bool variance = (op == "batch_norm_inference" && input == 4) || op == "batch_norm_running";
  const bool divisor = op == "over" && input == 1;
  return variance || divisor || op == "clip_scale" || op == "log" || op == "log1p" || op == "sqrt" || name == "sum" ||
         name == "mean_square" || name == "accumulator" || name == "w_squares" || name == "g_squares";
}

Values Drawn(const LocalNode& node, size_t input, uint64_t seed) {
  const std::string name = InputName(node, input);
  const int64_t elements = node.inputs[input]->elements();
  const auto counted = [elements](auto&& value) {
    Values values(static_cast<size_t>(elements));
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(value(k));
    return values;
  };
  if (name == "draws") return Values(static_cast<size_t>(elements), 500);
  if (name == "apply") return Values(static_cast<size_t>(elements), 1);
  if (name == "mask" || name == "bytes") return counted([seed](size_t k) { return (k * 151 + seed * 37) % 256; });
  if (node.inputs[input]->dtype == DType::kI32) return counted([seed](size_t k) { return (k * 7 + seed) % 5; });
  Values values = RandomValues(elements, seed * 16 + input);
  if (IsPositive(node.op->name, input, name)) {
    for (double& value : values) value = std::abs(value) + 0.5;
  }
  if (name == "gates") {
    for (double& value : values) value = 1 / (1 + std::exp(-value));
  }
  if (name == "lse") {
    for (double& value : values) value = std::abs(value) + 2;  // probabilities are below 1, but for rare scores
  }
  if (name == "w_h" || name == "w_projection") {
    for (double& value : values) value *= 0.2;
  }
  if (name == "mean") {
    for (double& value : values) value *= 0.1;  // its square is less than the mean square
  }
  return values;
}

// The softmax of each row.
void MakeProbabilities(int64_t places, Values& values) {
  for (auto row = values.begin(); row != values.end(); row += places) {
    double sum = 0;
    for (auto each = row; each != row + places; ++each) sum += * each = std::exp(*each);
    for (auto each = row; each != row + places; ++each) *each = static_cast<float>(*each / sum);
  }
}

// Nodes that are launched as one share these.
void Share(const LocalNode& node, std::vector<Values>& inputs) {
  const size_t stride = inputs.size() / static_cast<size_t>(node.members);
  for (const int shared : node.op->together) {
    for (size_t i = stride + static_cast<size_t>(shared); i < inputs.size(); i += stride) {
      inputs[i] = inputs[static_cast<size_t>(shared)];
    }
  }
}

bool HasLabels(const std::string& op) {
  return op == "accuracy" || op.rfind("softmax_cross_entropy", 0) == 0 || op == "cross_entropy" ||
         op == "cross_entropy_logits_grad" || op == "cross_entropy_sum_grad" || op == "count_labels";
}

bool UpdatesRows(const std::string& op) { return op.ends_with("_rows") && op != "merge_rows"; }

// Ids of which none comes twice; some are no row.
Values RowsOnce(size_t count, int64_t rows) {
  Values ids(count, -1);
  for (size_t k = 0; k < count; ++k) {
    const int64_t id = static_cast<int64_t>(k) * 2 - 3;
    if (id >= 0 && id < rows) ids[k] = static_cast<double>(id);
  }
  return ids;
}

// s1 and s2 of x [n,...,c] relative to `shift`, per group of samples.
Values StatisticsOf(const LocalNode& node, const Values& x, const Values& shift, int64_t groups) {
  const int64_t c = node.inputs[0]->shape().back(), rows = node.inputs[0]->elements() / c / groups;
  Values stats(groups * 2 * c, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) % c, g = static_cast<int64_t>(i) / c / rows;
    const double d = x[i] - shift[channel];
    stats[2 * g * c + channel] += d;
    stats[(2 * g + 1) * c + channel] += d * d;
  }
  return stats;
}

Values MaximaOf(const LocalNode& gradient, const Values& x) {
  const Attributes& attributes = gradient.attributes;
  return Outputs(WholeNode("max_pool",
                           {{"kernel", attributes.Ints("kernel")},
                            {"stride", attributes.Ints("stride")},
                            {"padding", attributes.Ints("padding")}},
                           {TensorType{DType::kF32, gradient.inputs[0]->global}}),
                 {x}, {.reference_only = true})[0];
}

}  // namespace

std::vector<Values> SuitableInputs(const LocalNode& node, uint64_t seed) {
  std::vector<Values> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(node.inputs[i].has_value() ? Drawn(node, i, seed) : Values{});
  }
  Share(node, inputs);
  const std::string& op = node.op->name;
  if (HasLabels(op)) {
    const bool alone = node.inputs[0]->dtype == DType::kI32, of_rows = op == "cross_entropy_sum_grad";
    const size_t classes = alone || of_rows ? 4 : static_cast<size_t>(node.inputs[0]->global.back());
    Values& labels = inputs[alone ? 0 : 1];
    for (size_t k = 0; k < labels.size(); ++k) labels[k] = static_cast<double>((k * 131 + seed) % classes);
  }
  if (op == "embedding" || op == "embedding_grad") {
    const int64_t rows = op == "embedding" ? node.inputs[0]->global[0] : node.attributes.Int("rows");
    for (size_t k = 0; k < inputs[1].size(); ++k) {
      inputs[1][k] = static_cast<double>(static_cast<int64_t>(k * k * 131 + seed) % rows);
    }
  }
  if (UpdatesRows(op)) inputs[1] = RowsOnce(inputs[1].size(), node.inputs[0]->global[0]);
  if (op == "attention_context_grad") MakeProbabilities(node.inputs[1]->shape().back(), inputs[1]);
  if (op == "max_pool_grad") inputs[1] = MaximaOf(node, inputs[0]);
  size_t stats = 0;
  while (stats < inputs.size() && InputName(node, stats) != "stats") ++stats;
  if (stats < inputs.size() && op.starts_with("batch_norm") && op != "batch_norm_running") {
    inputs[stats] = StatisticsOf(node, inputs[0], inputs[stats + 1], node.inputs[stats]->shape()[0]);
  }
  return inputs;
}

}  // namespace partita
