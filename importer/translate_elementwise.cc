// Element by element: activations, sums and products, and what leaves every element as it is.
#include <cmath>
#include <limits>

#include "importer/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::Status Pass(Translator& translator, const Node& node) {
  const std::string name = OptionalTensorOf(node, node.arguments.contains("self") ? "self" : "input");
  ASSIGN_OR_RETURN(Imported value, translator.Get(name));
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

absl::Status Unary(Translator& translator, const Node& node, const std::string& op, Attributes attributes = {}) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, node.arguments.contains("self") ? "self" : "input"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(value.node, translator.Add(node.outputs[0], op, {value.node}, std::move(attributes)));
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

absl::Status Gelu(Translator& translator, const Node& node) {
  const auto found = node.arguments.find("approximate");
  const auto* const form = found == node.arguments.end() ? nullptr : std::get_if<std::string>(&found->second);
  return Unary(translator, node, form != nullptr && *form == "tanh" ? "gelu_tanh" : "gelu");
}

// Both operands with as many dimensions, in one order: the other's size-1 dimensions only change places.
absl::StatusOr<Imported> Lifted(Translator& translator, const Imported& value, const Order& order,
                                const std::string& name) {
  Imported lifted = value;
  if (lifted.rank() < order.size()) {
    ASSIGN_OR_RETURN(lifted, translator.In(lifted, InOrder(lifted.rank()), name));
    if (order == InOrder(order.size())) return lifted;  // broadcast from the last dimension, as here
    Shape shape(order.size() - lifted.rank(), 1);
    const Shape own = translator.ShapeOf(lifted.node);
    for (const int64_t size : own) shape.push_back(size);
    ASSIGN_OR_RETURN(lifted.node, translator.Add(name + ".lifted", "reshape", {lifted.node}, {{"shape", shape}}));
    lifted.order = InOrder(order.size());
  }
  return translator.In(lifted, order, name);
}

absl::StatusOr<std::string> Scaled(Translator& translator, const std::string& node, double factor,
                                   const std::string& name) {
  if (factor == 1) return node;
  return translator.Add(name, "scale", {node}, {{"factor", factor}});
}

// x op y, where y is a tensor.
absl::Status OfTensors(Translator& translator, const Node& node, const std::string& op) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, "other"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(Imported y, translator.Get(other));
  const double alpha = NumberOf(node, "alpha", 1);
  if (alpha != 1) {
    ASSIGN_OR_RETURN(y.node, Scaled(translator, y.node, alpha, name + ".alpha"));
  }
  const Order order = x.rank() >= y.rank() && !(x.rank() == y.rank() && translator.ShapeOf(x.node).size() == 4 &&
                                                y.order == kChannelsLast)
                          ? x.order
                          : y.order;
  ASSIGN_OR_RETURN(x, Lifted(translator, x, order, name));
  ASSIGN_OR_RETURN(y, Lifted(translator, y, order, name));
  ASSIGN_OR_RETURN(std::string result, translator.Add(name, op, {x.node, y.node}));
  translator.Bind(name, {std::move(result), order});
  return absl::OkStatus();
}

// x + number, for every element.
absl::StatusOr<std::string> Shifted(Translator& translator, const std::string& node, double number,
                                    const std::string& name) {
  if (number == 0) return node;
  ASSIGN_OR_RETURN(const std::string constant,
                   translator.Add(name + ".number", "constant", {}, {{"shape", Shape{1}}, {"value", number}}));
  return translator.Add(name, "add", {node, constant});
}

absl::Status OfNumber(Translator& translator, const Node& node, double factor, double number) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(value.node, Scaled(translator, value.node, factor, number == 0 ? name : name + ".factor"));
  ASSIGN_OR_RETURN(value.node, Shifted(translator, value.node, number, name));
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

absl::Status Add(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "add");
  return OfNumber(translator, node, 1, NumberOf(node, "other", 0) * NumberOf(node, "alpha", 1));
}
absl::Status Subtract(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "sub");
  return OfNumber(translator, node, 1, -NumberOf(node, "other", 0) * NumberOf(node, "alpha", 1));
}
absl::Status SubtractFrom(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return InvalidArgument("rsub of two tensors");
  return OfNumber(translator, node, -NumberOf(node, "alpha", 1), NumberOf(node, "other", 0));
}
absl::Status Multiply(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "mul");
  return OfNumber(translator, node, NumberOf(node, "other", 1), 0);
}
absl::Status Divide(Translator& translator, const Node& node) {
  if (node.arguments.contains("rounding_mode")) return InvalidArgument("a division that rounds");
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "div");
  return OfNumber(translator, node, 1 / NumberOf(node, "other", 1), 0);
}
absl::Status Negate(Translator& translator, const Node& node) { return OfNumber(translator, node, -1, 0); }

absl::Status Power(Translator& translator, const Node& node) {
  if (!IsNumber(node, "exponent")) return InvalidArgument("a power whose exponent is a tensor");
  const double exponent = NumberOf(node, "exponent", 1);
  if (exponent == 2) return Unary(translator, node, "square");
  if (exponent == 0.5) return Unary(translator, node, "sqrt");
  if (exponent == 1) return Pass(translator, node);
  return InvalidArgument("a power with exponent {}; 0.5, 1 and 2 are read", exponent);
}

// max(x, number), element by element.
absl::StatusOr<std::string> AtLeast(Translator& translator, const std::string& node, double number,
                                    const std::string& name) {
  if (number == 0) return translator.Add(name, "relu", {node});
  ASSIGN_OR_RETURN(const std::string constant,
                   translator.Add(name + ".number", "constant", {}, {{"shape", Shape{1}}, {"value", number}}));
  return translator.Add(name, "maximum", {node, constant});
}

// min(max(x, least), most); infinite bounds are none.
absl::StatusOr<std::string> Clamped(Translator& translator, std::string node, double least, double most,
                                    const std::string& name) {
  if (least == 0 && most == 6 && translator.Has("relu6")) return translator.Add(name, "relu6", {node});
  const bool below = !std::isinf(least), above = !std::isinf(most);
  if (below) {
    ASSIGN_OR_RETURN(node, AtLeast(translator, node, least, above ? name + ".least" : name));
  }
  if (!above) return node;
  ASSIGN_OR_RETURN(node, Scaled(translator, node, -1, name + ".negative"));
  ASSIGN_OR_RETURN(node, AtLeast(translator, node, -most, name + ".most"));
  return Scaled(translator, node, -1, name);
}

// What is made of the operand by a function of its node and the result's name.
template <typename Make>
absl::Status Made(Translator& translator, const Node& node, Make make) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, node.arguments.contains("self") ? "self" : "input"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  absl::StatusOr<std::string> made = make(value.node, node.outputs[0]);
  RETURN_IF_ERROR(made.status());
  value.node = *std::move(made);
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

absl::Status Clamp(Translator& translator, const Node& node) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const bool tanh = OpOf(node.target).starts_with("hardtanh"), six = OpOf(node.target).starts_with("relu6");
  const double least = tanh ? NumberOf(node, "min_val", -1) : six ? 0 : NumberOf(node, "min", -kNone);
  const double most = tanh ? NumberOf(node, "max_val", 1) : six ? 6 : NumberOf(node, "max", kNone);
  if (std::isinf(least) && std::isinf(most)) return InvalidArgument("bounds that are tensors");
  return Made(translator, node,
              [&](const std::string& x, const std::string& name) { return Clamped(translator, x, least, most, name); });
}

absl::Status LeakyRelu(Translator& translator, const Node& node) {
  const double slope = NumberOf(node, "negative_slope", 0.01);
  if (slope < 0 || slope > 1) return InvalidArgument("a slope of {}; 0 to 1 is read", slope);
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string scaled, translator.Add(name + ".slope", "scale", {x}, {{"factor", slope}}));
    return translator.Add(name, "maximum", {x, scaled});
  });
}

absl::Status Absolute(Translator& translator, const Node& node) {
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string negative, Scaled(translator, x, -1, name + ".negative"));
    return translator.Add(name, "maximum", {x, negative});
  });
}

// 1 / x, or 1 / sqrt(x).
absl::Status Reciprocal(Translator& translator, const Node& node) {
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    std::string of = x;
    if (OpOf(node.target) == "rsqrt") {
      ASSIGN_OR_RETURN(of, translator.Add(name + ".sqrt", "sqrt", {x}));
    }
    ASSIGN_OR_RETURN(const std::string one,
                     translator.Add(name + ".one", "constant", {}, {{"shape", Shape{1}}, {"value", 1.0}}));
    return translator.Add(name, "div", {one, of});
  });
}

// min(max(x + 3, 0), 6) / 6, and x times that.
absl::Status HardSigmoid(Translator& translator, const Node& node) {
  const bool swish = OpOf(node.target).starts_with("hardswish");
  if (translator.Has("hard_sigmoid")) return Unary(translator, node, swish ? "hard_swish" : "hard_sigmoid");
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(std::string gate, Shifted(translator, x, 3, name + ".shifted"));
    ASSIGN_OR_RETURN(gate, Clamped(translator, gate, 0, 6, name + ".clamped"));
    ASSIGN_OR_RETURN(gate, Scaled(translator, gate, 1.0 / 6, swish ? name + ".gate" : name));
    if (!swish) return gate;
    return translator.Add(name, "mul", {x, gate});
  });
}

absl::Status Dropout(Translator& translator, const Node& node) {
  const double rate = NumberOf(node, "p", 0.5);
  if (rate == 0 || !SwitchOf(node, "train", true)) return Pass(translator, node);
  return Unary(translator, node, "dropout", {{"rate", rate}});
}

absl::Status Convert(Translator& translator, const Node& node) {
  const auto found = node.arguments.find("dtype");
  const auto* const type = found == node.arguments.end() ? nullptr : std::get_if<ScalarType>(&found->second);
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  const auto is_floating = [](ScalarType t) {
    return t == ScalarType::kF16 || t == ScalarType::kF32 || t == ScalarType::kF64 || t == ScalarType::kBF16;
  };
  if (type != nullptr && translator.IsKnown(self) && is_floating(*type) != is_floating(translator.MetaOf(self).type)) {
    return InvalidArgument("a conversion from {} to {}", Name(translator.MetaOf(self).type), Name(*type));
  }
  return Pass(translator, node);
}

template <const char* kOp>
absl::Status Same(Translator& translator, const Node& node) {
  if (!translator.Has(kOp)) return InvalidArgument("op {} is not known here", kOp);
  return Unary(translator, node, kOp);
}

constexpr char kRelu[] = "relu", kSigmoid[] = "sigmoid", kTanh[] = "tanh", kSilu[] = "silu", kExp[] = "exp",
               kLog[] = "log", kSqrt[] = "sqrt", kSquare[] = "square", kStop[] = "stop_gradient";

}  // namespace

void AddElementwise(Translations& translations) {
  translations.insert({{"relu", Same<kRelu>},
                       {"sigmoid", Same<kSigmoid>},
                       {"tanh", Same<kTanh>},
                       {"silu", Same<kSilu>},
                       {"exp", Same<kExp>},
                       {"log", Same<kLog>},
                       {"sqrt", Same<kSqrt>},
                       {"square", Same<kSquare>},
                       {"hardswish", HardSigmoid},
                       {"hardsigmoid", HardSigmoid},
                       {"relu6", Clamp},
                       {"hardtanh", Clamp},
                       {"clamp", Clamp},
                       {"clamp_min", Clamp},
                       {"leaky_relu", LeakyRelu},
                       {"abs", Absolute},
                       {"reciprocal", Reciprocal},
                       {"rsqrt", Reciprocal},
                       {"detach", Same<kStop>},
                       {"gelu", Gelu},
                       {"pow", Power},
                       {"add", Add},
                       {"sub", Subtract},
                       {"rsub", SubtractFrom},
                       {"mul", Multiply},
                       {"div", Divide},
                       {"neg", Negate},
                       {"dropout", Dropout},
                       {"feature_dropout", Dropout},
                       {"contiguous", Pass},
                       {"clone", Pass},
                       {"alias", Pass},
                       {"lift_fresh_copy", Pass},
                       {"to", Convert},
                       {"_to_copy", Convert}});
}

}  // namespace partita::torch_export
