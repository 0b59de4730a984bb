// Element by element: activations, sums and products, and what leaves every element as it is.
#include <cmath>
#include <limits>

#include "importer/arithmetic.h"
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

// x op y, where y is a tensor.
absl::Status OfTensors(Translator& translator, const Node& node, const std::string& op) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, "other"));
  ASSIGN_OR_RETURN(Pair pair, PairOf(translator, self, other, name));
  const double alpha = NumberOf(node, "alpha", 1);
  if (alpha != 1) {
    ASSIGN_OR_RETURN(pair.y.node, Scaled(translator, pair.y.node, alpha, name + ".alpha"));
  }
  ASSIGN_OR_RETURN(std::string result,
                   translator.Add(pair.integers ? name + ".floats" : name, op, {pair.x.node, pair.y.node}));
  if (pair.integers) {
    ASSIGN_OR_RETURN(result, AsType(translator, result, DType::kI32, name));
  }
  translator.Bind(name, {std::move(result), pair.order});
  return absl::OkStatus();
}

absl::Status OfNumber(Translator& translator, const Node& node, double factor, double number) {
  for (const char* const argument : {"other", "alpha"}) RETURN_IF_ERROR(CheckFixed(node, argument));
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  const std::string& name = node.outputs[0];
  const DType type = translator.TypeOf(value.node);
  const bool integers =
      !IsFloating(type) && IsWhole(factor) && IsWhole(number) && !IsFloat(translator.MetaOf(name).type);
  ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  ASSIGN_OR_RETURN(value.node,
                   Scaled(translator, value.node, factor, number == 0 && !integers ? name : name + ".factor"));
  ASSIGN_OR_RETURN(value.node, Shifted(translator, value.node, number, integers ? name + ".sum" : name));
  if (integers) {
    ASSIGN_OR_RETURN(value.node, AsType(translator, value.node, type, name));
  }
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

// 1 / x, or 1 / sqrt(x).
absl::Status Reciprocal(Translator& translator, const Node& node) {
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    std::string of = x;
    if (OpOf(node.target) == "rsqrt" || NumberOf(node, "exponent", 0) == -0.5) {
      ASSIGN_OR_RETURN(of, translator.Add(name + ".sqrt", "sqrt", {x}));
    }
    ASSIGN_OR_RETURN(const std::string one, NumberBeside(translator, of, 1, name + ".one"));
    return translator.Add(name, "div", {one, of});
  });
}

absl::Status Power(Translator& translator, const Node& node) {
  if (!IsNumber(node, "exponent")) return InvalidArgument("a power whose exponent is a tensor");
  const double exponent = NumberOf(node, "exponent", 1);
  if (exponent == 2) return Unary(translator, node, "square");
  if (exponent == 0.5) return Unary(translator, node, "sqrt");
  if (exponent == 1) return Pass(translator, node);
  if (exponent == -0.5 || exponent == -1) return Reciprocal(translator, node);
  const auto steps = static_cast<int>(exponent);
  if (exponent != steps || steps < 3 || steps > 8) {
    return InvalidArgument("a power with exponent {}; -1, -0.5, 0.5 and 1 to 8 are read", exponent);
  }
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    std::string power = x;
    for (int i = 1; i < steps; ++i) {
      ASSIGN_OR_RETURN(power, translator.Add(i + 1 == steps ? name : name + ".power", "mul", {power, x}));
    }
    return power;
  });
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

// max(x, 0) + slope min(x, 0), whose gradient at 0 is the slope.
absl::Status LeakyRelu(Translator& translator, const Node& node) {
  const double slope = NumberOf(node, "negative_slope", 0.01);
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string positive, translator.Add(name + ".positive", "relu", {x}));
    ASSIGN_OR_RETURN(std::string rest, translator.Add(name + ".negative", "sub", {x, positive}));
    ASSIGN_OR_RETURN(rest, Scaled(translator, rest, slope, name + ".slope"));
    return translator.Add(name, "add", {positive, rest});
  });
}

absl::Status Absolute(Translator& translator, const Node& node) {
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string negative, Scaled(translator, x, -1, name + ".negative"));
    return translator.Add(name, "maximum", {x, negative});
  });
}

absl::Status HardSigmoid(Translator& translator, const Node& node) {
  return Unary(translator, node, OpOf(node.target) == "hardswish" ? "hard_swish" : "hard_sigmoid");
}

absl::Status Dropout(Translator& translator, const Node& node) {
  const double rate = NumberOf(node, "p", 0.5);
  if (rate == 0 || !SwitchOf(node, "train", true)) return Pass(translator, node);
  return Unary(translator, node, "dropout", {{"rate", rate}});
}

// self + value tensor1 tensor2.
absl::Status AddProduct(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "tensor1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "tensor2"));
  ASSIGN_OR_RETURN(Pair product, PairOf(translator, first, second, name));
  ASSIGN_OR_RETURN(product.x.node, translator.Add(name + ".product", OpOf(node.target) == "addcdiv" ? "div" : "mul",
                                                  {product.x.node, product.y.node}));
  ASSIGN_OR_RETURN(product.x.node, Scaled(translator, product.x.node, NumberOf(node, "value", 1), name + ".scaled"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  product.x.order = product.order;
  const Order order = product.order.size() >= x.rank() ? product.order : x.order;
  ASSIGN_OR_RETURN(x, Lifted(translator, x, order, name));
  ASSIGN_OR_RETURN(product.x, Lifted(translator, product.x, order, name));
  ASSIGN_OR_RETURN(std::string sum, translator.Add(name, "add", {x.node, product.x.node}));
  translator.Bind(name, {std::move(sum), order});
  return absl::OkStatus();
}

// max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
absl::StatusOr<std::string> SoftplusOf(Translator& translator, const std::string& x, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string positive, translator.Add(name + ".positive", "relu", {x}));
  ASSIGN_OR_RETURN(const std::string negative, Scaled(translator, x, -1, name + ".negative"));
  ASSIGN_OR_RETURN(std::string size, translator.Add(name + ".size", "maximum", {x, negative}));
  ASSIGN_OR_RETURN(size, Scaled(translator, size, -1, name + ".small"));
  ASSIGN_OR_RETURN(size, translator.Add(name + ".exp", "exp", {size}));
  ASSIGN_OR_RETURN(size, Shifted(translator, size, 1, name + ".sum"));
  ASSIGN_OR_RETURN(size, translator.Add(name + ".log", "log", {size}));
  return translator.Add(name, "add", {positive, size});
}

absl::Status Softplus(Translator& translator, const Node& node) {
  if (NumberOf(node, "beta", 1) != 1) return InvalidArgument("a softplus with beta {}", NumberOf(node, "beta", 1));
  return Made(translator, node,
              [&](const std::string& x, const std::string& name) { return SoftplusOf(translator, x, name); });
}

// scale (max(x, 0) + alpha (exp(min(x, 0)) - 1))
absl::Status Elu(Translator& translator, const Node& node) {
  const bool self_normalizing = OpOf(node.target).starts_with("selu");
  const double alpha = self_normalizing ? 1.6732632423543772848170429916717 : NumberOf(node, "alpha", 1);
  const double scale = self_normalizing ? 1.0507009873554804934193349852946 : NumberOf(node, "scale", 1);
  if (NumberOf(node, "input_scale", 1) != 1) return InvalidArgument("an elu that scales its input");
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string positive, translator.Add(name + ".positive", "relu", {x}));
    ASSIGN_OR_RETURN(std::string rest, translator.Add(name + ".negative", "sub", {x, positive}));
    ASSIGN_OR_RETURN(rest, translator.Add(name + ".exp", "exp", {rest}));
    ASSIGN_OR_RETURN(rest, Shifted(translator, rest, -1, name + ".below"));
    ASSIGN_OR_RETURN(rest, Scaled(translator, rest, alpha, name + ".alpha"));
    ASSIGN_OR_RETURN(rest, translator.Add(name + ".sum", "add", {positive, rest}));
    return Scaled(translator, rest, scale, name);
  });
}

// x tanh(softplus(x)); -softplus(-x).
absl::Status OfSoftplus(Translator& translator, const Node& node) {
  const bool mish = OpOf(node.target).starts_with("mish");
  return Made(translator, node, [&](const std::string& x, const std::string& name) -> absl::StatusOr<std::string> {
    std::string y = x;
    if (!mish) {
      ASSIGN_OR_RETURN(y, Scaled(translator, x, -1, name + ".turned"));
    }
    ASSIGN_OR_RETURN(y, SoftplusOf(translator, y, name + ".softplus"));
    if (!mish) return Scaled(translator, y, -1, name);
    ASSIGN_OR_RETURN(y, translator.Add(name + ".tanh", "tanh", {y}));
    return translator.Add(name, "mul", {x, y});
  });
}

// max(x, 0) + weight min(x, 0), with a weight for each channel or one.
absl::Status PRelu(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(Imported w, translator.GetParameter(weight, {0}, Beginning::kOnes));
  const int64_t weights = translator.ShapeOf(w.node)[0];
  if (weights > 1) {
    Shape shape(x.rank(), 1);
    shape[static_cast<size_t>(std::ranges::find(x.order, 1) - x.order.begin())] = weights;
    ASSIGN_OR_RETURN(w.node, translator.Add(name + ".weights", "reshape", {w.node}, {{"shape", shape}}));
  }
  ASSIGN_OR_RETURN(const std::string positive, translator.Add(name + ".positive", "relu", {x.node}));
  ASSIGN_OR_RETURN(std::string rest, translator.Add(name + ".negative", "sub", {x.node, positive}));
  ASSIGN_OR_RETURN(rest, translator.Add(name + ".scaled", "mul", {rest, w.node}));
  ASSIGN_OR_RETURN(rest, translator.Add(name, "add", {positive, rest}));
  translator.Bind(name, {std::move(rest), x.order});
  return absl::OkStatus();
}

// What lies above or below a diagonal times 0.
absl::Status Triangle(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  if (x.rank() < 2) return InvalidArgument("it has {} dimensions; expected 2", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, InOrder(x.rank()), name));
  const Shape shape = translator.ShapeOf(x.node);
  const int64_t rows = shape[shape.size() - 2], columns = shape.back(), diagonal = IntegerOf(node, "diagonal", 0);
  std::vector<double> kept;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t beyond = i % columns - i / columns - diagonal;
    kept.push_back((op.starts_with("tril") ? beyond <= 0 : beyond >= 0) ? 1 : 0);
  }
  ASSIGN_OR_RETURN(const std::string mask, translator.Values(name + ".kept", DType::kF32, {rows, columns}, kept));
  ASSIGN_OR_RETURN(x.node, translator.Add(name, "mul", {x.node, mask}));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

absl::Status Largest(Translator& translator, const Node& node) {
  if (OpOf(node.target) == "maximum") return OfTensors(translator, node, "maximum");
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, "other"));
  ASSIGN_OR_RETURN(Pair pair, PairOf(translator, self, other, name));
  ASSIGN_OR_RETURN(pair.x.node, Scaled(translator, pair.x.node, -1, name + ".x"));
  ASSIGN_OR_RETURN(pair.y.node, Scaled(translator, pair.y.node, -1, name + ".y"));
  ASSIGN_OR_RETURN(pair.x.node, translator.Add(name + ".maximum", "maximum", {pair.x.node, pair.y.node}));
  ASSIGN_OR_RETURN(pair.x.node, Scaled(translator, pair.x.node, -1, name));
  translator.Bind(name, {std::move(pair.x.node), pair.order});
  return absl::OkStatus();
}

template <const char* kOp>
absl::Status Same(Translator& translator, const Node& node) {
  return Unary(translator, node, kOp);
}

constexpr char kRelu[] = "relu", kSigmoid[] = "sigmoid", kTanh[] = "tanh", kSilu[] = "silu", kExp[] = "exp",
               kLog[] = "log", kSqrt[] = "sqrt", kSquare[] = "square", kSin[] = "sin", kCos[] = "cos",
               kStop[] = "stop_gradient";

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
                       {"sin", Same<kSin>},
                       {"cos", Same<kCos>},
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
                       {"subtract", Subtract},
                       {"multiply", Multiply},
                       {"divide", Divide},
                       {"true_divide", Divide},
                       {"negative", Negate},
                       {"absolute", Absolute},
                       {"clip", Clamp},
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
                       {"addcmul", AddProduct},
                       {"addcdiv", AddProduct},
                       {"softplus", Softplus},
                       {"elu", Elu},
                       {"selu", Elu},
                       {"mish", OfSoftplus},
                       {"log_sigmoid", OfSoftplus},
                       {"prelu", PRelu},
                       {"tril", Triangle},
                       {"triu", Triangle},
                       {"maximum", Largest},
                       {"minimum", Largest}});
}

}  // namespace partita::torch_export
