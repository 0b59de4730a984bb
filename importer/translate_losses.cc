// Losses: of classes, of truth values and of numbers.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "importer/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::Status CrossEntropy(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string target, TensorOf(node, "target"));
  if (!OptionalTensorOf(node, "weight").empty()) return InvalidArgument("weights of classes");
  ASSIGN_OR_RETURN(Imported logits, translator.Get(self));
  ASSIGN_OR_RETURN(Imported labels, translator.Get(target));
  if (IsFloating(translator.TypeOf(labels.node))) return InvalidArgument("labels that are probabilities");
  const int64_t reduction = IntegerOf(node, "reduction", 1);
  if (reduction != 1 && reduction != 2) return InvalidArgument("a loss without reduction");
  if (labels.rank() + 1 != logits.rank()) return InvalidArgument("labels that are no classes");
  // Classes, PyTorch's second dimension, go last; positions between are one dimension.
  ASSIGN_OR_RETURN(logits, translator.In(logits, WithLast(InOrder(logits.rank()), logits.rank() > 1 ? 1 : 0), name));
  ASSIGN_OR_RETURN(labels, translator.In(labels, InOrder(labels.rank()), name));
  const Shape shape = translator.ShapeOf(logits.node);
  std::string x = logits.node, y = labels.node;
  if (shape.size() > 3) {
    const int64_t positions = Elements(shape) / shape[0] / shape.back();
    ASSIGN_OR_RETURN(x,
                     translator.Add(name + ".logits", "reshape", {x}, {{"shape", Shape{-1, positions, shape.back()}}}));
    ASSIGN_OR_RETURN(y, translator.Add(name + ".labels", "reshape", {y}, {{"shape", Shape{-1, positions}}}));
  }
  Attributes attributes = {{"reduction", std::string(reduction == 1 ? "mean" : "sum")},
                           {"label_smoothing", NumberOf(node, "label_smoothing", 0)}};
  // By default PyTorch ignores labels of -100. One label for each sample, as a user gives it, is a
  // class.
  const int64_t ignored = IntegerOf(node, "ignore_index", -100);
  if (ignored != -100 || shape.size() > 2 || !translator.IsUserInput(target)) attributes.Set("ignore_index", ignored);
  ASSIGN_OR_RETURN(std::string loss, translator.Add(name, "softmax_cross_entropy", {x, y}, std::move(attributes)));
  translator.Bind(name, {std::move(loss), {}});
  return absl::OkStatus();
}

// The mean or the sum of the elements of a value.
absl::Status Reduced(Translator& translator, const Node& node, const std::string& elements) {
  const std::string& name = node.outputs[0];
  const int64_t reduction = IntegerOf(node, "reduction", 1);
  if (reduction != 1 && reduction != 2) return InvalidArgument("a loss without reduction");
  ASSIGN_OR_RETURN(std::string loss, translator.Add(name, reduction == 1 ? "mean" : "sum", {elements}));
  translator.Bind(name, {std::move(loss), {}});
  return absl::OkStatus();
}

// Predictions and targets in one order.
absl::StatusOr<std::pair<std::string, std::string>> OperandsOf(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string target, TensorOf(node, "target"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(Imported y, translator.Whole(target, node.outputs[0]));
  ASSIGN_OR_RETURN(y, translator.In(y, x.order, node.outputs[0]));
  ASSIGN_OR_RETURN(y.node, translator.AsFloats(y.node, node.outputs[0]));
  return std::pair(x.node, y.node);
}

absl::StatusOr<std::string> Number(Translator& translator, double value, const std::string& name) {
  return translator.Values(name, DType::kF32, Shape{1}, {value});
}

absl::StatusOr<std::string> Magnitude(Translator& translator, const std::string& x, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string negative, translator.Add(name + ".negative", "scale", {x}, {{"factor", -1.0}}));
  return translator.Add(name + ".size", "maximum", {x, negative});
}

// max(x, 0) - x y + log(1 + exp(-|x|)), which does not overflow.
absl::Status BinaryCrossEntropyWithLogits(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  for (const char* const weights : {"weight", "pos_weight"}) {
    if (!OptionalTensorOf(node, weights).empty()) return InvalidArgument("weights of its elements");
  }
  ASSIGN_OR_RETURN(const auto operands, OperandsOf(translator, node));
  const auto& [x, y] = operands;
  ASSIGN_OR_RETURN(std::string positive, translator.Add(name + ".positive", "relu", {x}));
  ASSIGN_OR_RETURN(const std::string product, translator.Add(name + ".product", "mul", {x, y}));
  ASSIGN_OR_RETURN(positive, translator.Add(name + ".linear", "sub", {positive, product}));
  ASSIGN_OR_RETURN(std::string rest, Magnitude(translator, x, name));
  ASSIGN_OR_RETURN(rest, translator.Add(name + ".small", "scale", {rest}, {{"factor", -1.0}}));
  ASSIGN_OR_RETURN(rest, translator.Add(name + ".exp", "exp", {rest}));
  ASSIGN_OR_RETURN(const std::string one, Number(translator, 1, name + ".one"));
  ASSIGN_OR_RETURN(rest, translator.Add(name + ".sum", "add", {rest, one}));
  ASSIGN_OR_RETURN(rest, translator.Add(name + ".log", "log", {rest}));
  ASSIGN_OR_RETURN(rest, translator.Add(name + ".elements", "add", {positive, rest}));
  return Reduced(translator, node, rest);
}

// Of probabilities x, whose logarithms PyTorch bounds by -100. Its gradient is (x - y) / max(x (1 - x), 1e-12), also
// where a logarithm is bounded; that of y, log(1 - x) - log(x).
absl::Status BinaryCrossEntropy(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  if (!OptionalTensorOf(node, "weight").empty()) return InvalidArgument("weights of its elements");
  ASSIGN_OR_RETURN(const auto operands, OperandsOf(translator, node));
  const auto& [x, y] = operands;
  const auto add = [&](const char* part, const char* op, const std::vector<std::string>& inputs,
                       Attributes attributes = {}) {
    return translator.Add(fmt::format("{}.{}", name, part), op, inputs, std::move(attributes));
  };
  ASSIGN_OR_RETURN(const std::string one, Number(translator, 1, name + ".one"));
  ASSIGN_OR_RETURN(const std::string least, Number(translator, -100, name + ".least"));
  ASSIGN_OR_RETURN(const std::string p, add("probability", "stop_gradient", {x}));
  ASSIGN_OR_RETURN(const std::string t, add("target", "stop_gradient", {y}));
  ASSIGN_OR_RETURN(const std::string q, add("others", "sub", {one, p}));
  ASSIGN_OR_RETURN(const std::string absent, add("absent", "sub", {one, t}));
  ASSIGN_OR_RETURN(std::string hits, add("log", "log", {p}));
  ASSIGN_OR_RETURN(hits, add("bounded", "maximum", {hits, least}));
  ASSIGN_OR_RETURN(std::string misses, add("others_log", "log", {q}));
  ASSIGN_OR_RETURN(misses, add("others_bounded", "maximum", {misses, least}));
  ASSIGN_OR_RETURN(const std::string of_hits, add("hits", "mul", {t, hits}));
  ASSIGN_OR_RETURN(const std::string of_misses, add("misses", "mul", {absent, misses}));
  ASSIGN_OR_RETURN(std::string elements, add("terms", "add", {of_hits, of_misses}));
  ASSIGN_OR_RETURN(elements, add("values", "scale", {elements}, {{"factor", -1.0}}));
  // What has that gradient, and adds 0.
  ASSIGN_OR_RETURN(std::string slope, add("product", "mul", {p, q}));
  ASSIGN_OR_RETURN(const std::string tiny, Number(translator, 1e-12, name + ".tiny"));
  ASSIGN_OR_RETURN(slope, add("bounded_product", "maximum", {slope, tiny}));
  ASSIGN_OR_RETURN(const std::string off, add("difference", "sub", {p, t}));
  ASSIGN_OR_RETURN(slope, add("slope", "div", {off, slope}));
  ASSIGN_OR_RETURN(std::string change, add("change", "sub", {x, p}));
  ASSIGN_OR_RETURN(change, add("slide", "mul", {slope, change}));
  ASSIGN_OR_RETURN(elements, add("elements", "add", {elements, change}));
  ASSIGN_OR_RETURN(std::string of_target, add("target_slope", "sub", {misses, hits}));
  ASSIGN_OR_RETURN(change, add("target_change", "sub", {y, t}));
  ASSIGN_OR_RETURN(change, add("target_slide", "mul", {of_target, change}));
  ASSIGN_OR_RETURN(elements, add("all", "add", {elements, change}));
  return Reduced(translator, node, elements);
}

// |d|; smooth: with m = min(|d|, beta), m (|d| - m / 2) / beta, which huber_loss multiplies by its delta.
absl::Status AbsoluteError(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(const auto operands, OperandsOf(translator, node));
  ASSIGN_OR_RETURN(std::string size, translator.Add(name + ".difference", "sub", {operands.first, operands.second}));
  ASSIGN_OR_RETURN(size, Magnitude(translator, size, name));
  const double beta = NumberOf(node, op == "huber_loss" ? "delta" : "beta", 1);
  if (op == "l1_loss" || beta == 0) return Reduced(translator, node, size);
  ASSIGN_OR_RETURN(const std::string bound, Number(translator, beta, name + ".beta"));
  ASSIGN_OR_RETURN(std::string over, translator.Add(name + ".over", "sub", {size, bound}));
  ASSIGN_OR_RETURN(over, translator.Add(name + ".above", "relu", {over}));
  ASSIGN_OR_RETURN(const std::string least, translator.Add(name + ".least", "sub", {size, over}));
  ASSIGN_OR_RETURN(const std::string half, translator.Add(name + ".half", "scale", {least}, {{"factor", 0.5}}));
  ASSIGN_OR_RETURN(size, translator.Add(name + ".rest", "sub", {size, half}));
  ASSIGN_OR_RETURN(size, translator.Add(name + ".product", "mul", {size, least}));
  if (op == "smooth_l1_loss" && beta != 1) {
    ASSIGN_OR_RETURN(size, translator.Add(name + ".elements", "scale", {size}, {{"factor", 1 / beta}}));
  }
  return Reduced(translator, node, size);
}

absl::Status SquaredError(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string target, TensorOf(node, "target"));
  if (IntegerOf(node, "reduction", 1) != 1) {
    ASSIGN_OR_RETURN(const auto operands, OperandsOf(translator, node));
    ASSIGN_OR_RETURN(std::string square,
                     translator.Add(name + ".difference", "sub", {operands.first, operands.second}));
    ASSIGN_OR_RETURN(square, translator.Add(name + ".square", "square", {square}));
    return Reduced(translator, node, square);
  }
  ASSIGN_OR_RETURN(const Imported predictions, translator.Get(self));
  ASSIGN_OR_RETURN(Imported targets, translator.Get(target));
  ASSIGN_OR_RETURN(targets, translator.In(targets, predictions.order, name));
  ASSIGN_OR_RETURN(std::string loss, translator.Add(name, "mean_squared_error", {predictions.node, targets.node}));
  translator.Bind(name, {std::move(loss), {}});
  return absl::OkStatus();
}

}  // namespace

void AddLosses(Translations& translations) {
  // The logarithms of a softmax are logits of the same probabilities.
  for (const char* const name : {"cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss2d"}) {
    translations[name] = CrossEntropy;
  }
  translations.insert({{"mse_loss", SquaredError},
                       {"l1_loss", AbsoluteError},
                       {"smooth_l1_loss", AbsoluteError},
                       {"huber_loss", AbsoluteError},
                       {"binary_cross_entropy", BinaryCrossEntropy},
                       {"binary_cross_entropy_with_logits", BinaryCrossEntropyWithLogits}});
}

}  // namespace partita::torch_export
