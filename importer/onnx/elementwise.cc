// Ops of single elements: functions, sums and products, comparisons, choices, conversions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "importer/onnx/lowering.h"
#include "importer/program/stored_elements.h"

namespace partita::onnx {
namespace {

// The number that an operand is, if it is one and changes no shape beside `other`.
std::optional<double> OneNumber(Lowering& l, size_t i, size_t rank) {
  const std::optional<Known> known = l.values().Find(l.node().inputs[i]);
  if (!known || known->numbers.size() != 1 || known->numbers[0].of_batch || known->shape.size() > rank) {
    return std::nullopt;
  }
  if (!std::isfinite(known->numbers[0].value)) return std::nullopt;
  return known->numbers[0].value;
}

absl::Status Function(Lowering& l, const std::string& op, Arguments more = {}) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  more["self"] = NameOf(x);
  return l.Result(op, std::move(more), x.type, x.sizes);
}

// Those that PyTorch calls otherwise.
absl::Status Named(Lowering& l) {
  static const auto& names = *new std::map<std::string, std::string>{
      {"Relu", "relu"},        {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"},
      {"Erf", "erf"},          {"Exp", "exp"},         {"Log", "log"},
      {"Sqrt", "sqrt"},        {"Neg", "neg"},         {"Abs", "abs"},
      {"Acos", "acos"},        {"Acosh", "acosh"},     {"Asin", "asin"},
      {"Asinh", "asinh"},      {"Atan", "atan"},       {"Atanh", "atanh"},
      {"Cosh", "cosh"},        {"Sinh", "sinh"},       {"Reciprocal", "reciprocal"},
      {"Floor", "floor"},      {"Ceil", "ceil"},       {"Round", "round"},
      {"Sign", "sign"},        {"Sin", "sin"},         {"Cos", "cos"},
      {"Tan", "tan"},          {"Mish", "mish"},       {"HardSwish", "hardswish"},
      {"Softplus", "softplus"}};
  return Function(l, names.at(l.op()));
}

absl::Status LeakyRelu(Lowering& l) { return Function(l, "leaky_relu", {{"negative_slope", l.Float("alpha", 0.01)}}); }
absl::Status Elu(Lowering& l) { return Function(l, "elu", {{"alpha", l.Float("alpha", 1)}}); }
absl::Status Celu(Lowering& l) { return Function(l, "celu", {{"alpha", l.Float("alpha", 1)}}); }

absl::Status Selu(Lowering& l) {
  const double alpha = l.Float("alpha", 1.6732632423543772), gamma = l.Float("gamma", 1.0507009873554805);
  constexpr double kNear = 1e-6;  // the attributes are f32
  if (std::abs(alpha - 1.6732632423543772) < kNear && std::abs(gamma - 1.0507009873554805) < kNear) {
    return Function(l, "selu");
  }
  return Function(l, "elu", {{"alpha", alpha}, {"scale", gamma}});
}

absl::Status Gelu(Lowering& l) { return Function(l, "gelu", {{"approximate", l.Text("approximate", "none")}}); }
absl::Status ThresholdedRelu(Lowering& l) {
  return Function(l, "threshold", {{"threshold", l.Float("alpha", 1)}, {"value", 0.0}});
}

absl::Status HardSigmoid(Lowering& l) {
  const double alpha = l.Float("alpha", 0.2), beta = l.Float("beta", 0.5);
  constexpr double kNear = 1e-6;  // PyTorch's 1 / 6 as f32
  if (std::abs(alpha - 1.0 / 6) < kNear && beta == 0.5) return Function(l, "hardsigmoid");
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  const Value line = l.Plus(l.Times(x, alpha), beta);
  return l.Result("clamp", {{"self", NameOf(line)}, {"min", 0.0}, {"max", 1.0}}, x.type, x.sizes);
}

absl::Status Softsign(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  const Value below = l.Plus(l.Add("abs", {{"self", NameOf(x)}}, x.type, x.sizes), 1);
  return l.Result("div", {{"self", NameOf(x)}, {"other", NameOf(below)}}, x.type, x.sizes);
}

absl::Status Swish(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  const double alpha = l.Float("alpha", 1);
  if (alpha == 1) return Function(l, "silu");
  const Value gate = l.Add("sigmoid", {{"self", NameOf(l.Times(x, alpha))}}, x.type, x.sizes);
  return l.Result("mul", {{"self", NameOf(x)}, {"other", NameOf(gate)}}, x.type, x.sizes);
}

absl::Status Shrink(Lowering& l) {
  const double lambda = l.Float("lambd", 0.5), bias = l.Float("bias", 0);
  if (bias != 0 && bias != lambda) return InvalidArgument("a shrink by {} beyond {}", bias, lambda);
  return Function(l, bias == 0 ? "hardshrink" : "softshrink", {{"lambd", lambda}});
}

absl::Status Clip(Lowering& l) {
  Arguments bounds;
  constexpr double kNone = std::numeric_limits<float>::max();
  for (const auto& [name, i] : {std::pair("min", size_t{1}), {"max", size_t{2}}}) {
    double bound = l.HasAttribute(name) ? l.Float(name, 0) : std::numeric_limits<double>::infinity();
    if (l.Has(i)) {
      ASSIGN_OR_RETURN(bound, l.Scalar(i));
    }
    if (std::abs(bound) < kNone) bounds[name] = bound;
  }
  if (!bounds.empty()) return Function(l, "clamp", std::move(bounds));
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  return l.Pass(x);
}

// max(x, 0) + slope min(x, 0).
absl::Status PRelu(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value slope, l.In(1));
  // A slope for each channel [c,1,1], or one.
  int64_t count = 1, others = 0;
  for (size_t d = 0; d < slope.rank(); ++d) {
    count *= slope.sizes[d].value;
    others += slope.sizes[d].value != 1 && d + x.rank() - slope.rank() != 1 ? 1 : 0;
  }
  if (others == 0 && slope.rank() <= x.rank() && IsFixed(slope.sizes)) {
    const Value weight = l.Reshaped(slope, {{count}});
    return l.Result("prelu", {{"self", NameOf(x)}, {"weight", NameOf(weight)}}, x.type, x.sizes);
  }
  const Value above = l.Add("relu", {{"self", NameOf(x)}}, x.type, x.sizes);
  ASSIGN_OR_RETURN(const Value below, l.Two("sub", x, above));
  ASSIGN_OR_RETURN(const Value sloped, l.Two("mul", below, slope));
  if (sloped.rank() != x.rank()) return InvalidArgument("its slope has more dimensions than its input");
  return l.Result("add", {{"self", NameOf(above)}, {"other", NameOf(sloped)}}, x.type, x.sizes);
}

// Two operands, either of which may be a number.
absl::Status Binary(Lowering& l, const std::string& op, const std::string& reverse, Arguments more = {},
                    std::optional<ScalarType> type = std::nullopt) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value y, l.In(1));
  const ScalarType result = type ? *type : x.type;
  if (const std::optional<double> number = OneNumber(l, 1, x.rank()); number) {
    more.insert({{"self", NameOf(x)}, {"other", *number}});
    return l.Result(op, std::move(more), result, x.sizes);
  }
  if (const std::optional<double> number = OneNumber(l, 0, y.rank()); number && !reverse.empty()) {
    more.insert({{"self", NameOf(y)}, {"other", *number}});
    return l.Result(reverse, std::move(more), result, y.sizes);
  }
  ASSIGN_OR_RETURN(Sizes sizes, Broadcast(x.sizes, y.sizes));
  more.insert({{"self", NameOf(x)}, {"other", NameOf(y)}});
  return l.Result(op, std::move(more), result, std::move(sizes));
}

absl::Status Add(Lowering& l) { return Binary(l, "add", "add"); }
absl::Status Subtract(Lowering& l) { return Binary(l, "sub", "rsub"); }
absl::Status Multiply(Lowering& l) { return Binary(l, "mul", "mul"); }

absl::Status Divide(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value y, l.In(1));
  const bool floats = torch_export::IsFloat(x.type);
  if (!floats) return Binary(l, "div", "", {{"rounding_mode", std::string("trunc")}});
  if (const std::optional<double> number = OneNumber(l, 0, y.rank()); number) {
    const Value inverse = l.Add("reciprocal", {{"self", NameOf(y)}}, x.type, y.sizes);
    return l.Result("mul", {{"self", NameOf(inverse)}, {"other", *number}}, x.type, y.sizes);
  }
  return Binary(l, "div", "");
}

absl::Status Modulo(Lowering& l) { return Binary(l, l.Integer("fmod", 0) != 0 ? "fmod" : "remainder", ""); }

absl::Status Power(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value y, l.In(1));
  if (const std::optional<double> exponent = OneNumber(l, 1, x.rank()); exponent) {
    return l.Result("pow", {{"self", NameOf(x)}, {"exponent", *exponent}}, x.type, x.sizes);
  }
  if (const std::optional<double> base = OneNumber(l, 0, y.rank()); base) {
    return l.Result("pow", {{"self", *base}, {"exponent", NameOf(y)}}, x.type, y.sizes);
  }
  ASSIGN_OR_RETURN(Sizes sizes, Broadcast(x.sizes, y.sizes));
  return l.Result("pow", {{"self", NameOf(x)}, {"exponent", NameOf(y)}}, x.type, std::move(sizes));
}

// Any number of operands, one after the other.
absl::Status Variadic(Lowering& l) {
  const std::string op = l.op() == "Min" ? "minimum" : l.op() == "Max" ? "maximum" : "add";
  ASSIGN_OR_RETURN(Value x, l.In(0));
  for (size_t i = 1; i < l.node().inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const Value y, l.In(i));
    if (const std::optional<double> number = OneNumber(l, i, x.rank()); number) {
      x = l.Add(op, {{"self", NameOf(x)}, {"other", *number}}, x.type, x.sizes);
      continue;
    }
    ASSIGN_OR_RETURN(x, l.Two(op, x, y));
  }
  if (l.op() == "Mean") x = l.Times(x, 1 / static_cast<double>(l.node().inputs.size()));
  return l.Pass(x);
}

absl::Status Compare(Lowering& l) {
  static const auto& names =
      *new std::map<std::string, std::pair<std::string, std::string>>{{"Equal", {"eq", "eq"}},
                                                                      {"Less", {"lt", "gt"}},
                                                                      {"LessOrEqual", {"le", "ge"}},
                                                                      {"Greater", {"gt", "lt"}},
                                                                      {"GreaterOrEqual", {"ge", "le"}}};
  const auto& [op, reverse] = names.at(l.op());
  return Binary(l, op, reverse, {}, ScalarType::kBool);
}

absl::Status Logic(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value y, l.In(1));
  const std::string op = l.op() == "And" ? "logical_and" : l.op() == "Or" ? "logical_or" : "logical_xor";
  ASSIGN_OR_RETURN(Sizes sizes, Broadcast(x.sizes, y.sizes));
  return l.Result(op, {{"self", NameOf(x)}, {"other", NameOf(y)}}, ScalarType::kBool, std::move(sizes));
}

absl::Status OfTruth(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  if (l.op() == "IsInf" && (l.Integer("detect_positive", 1) != 1 || l.Integer("detect_negative", 1) != 1)) {
    return InvalidArgument("infinities of one sign");
  }
  const std::string op = l.op() == "Not" ? "logical_not" : l.op() == "IsNaN" ? "isnan" : "isinf";
  return l.Result(op, {{"self", NameOf(x)}}, ScalarType::kBool, x.sizes);
}

absl::Status Where(Lowering& l) {
  ASSIGN_OR_RETURN(const Value condition, l.In(0));
  ASSIGN_OR_RETURN(const Value x, l.In(1));
  ASSIGN_OR_RETURN(const Value y, l.In(2));
  ASSIGN_OR_RETURN(Sizes sizes, Broadcast(x.sizes, y.sizes));
  ASSIGN_OR_RETURN(sizes, Broadcast(condition.sizes, sizes));
  return l.Result("where", {{"condition", NameOf(condition)}, {"self", NameOf(x)}, {"other", NameOf(y)}}, x.type,
                  std::move(sizes));
}

absl::Status Convert(Lowering& l, ScalarType type) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  if (type == x.type) return l.Pass(x);
  return l.Result("_to_copy", {{"self", NameOf(x)}, {"dtype", type}}, type, x.sizes);
}

absl::Status Cast(Lowering& l) {
  ASSIGN_OR_RETURN(const ScalarType type, TypeOf(static_cast<int>(l.Integer("to", kUndefined))));
  return Convert(l, type);
}

absl::Status CastLike(Lowering& l) {
  ASSIGN_OR_RETURN(const Value like, l.In(1));
  if (std::optional<Known> known = l.values().Find(l.node().inputs[0]); known && known->numbers.size() == 1) {
    known->type = like.type;
    if (!torch_export::IsFloat(like.type)) known->numbers[0].value = std::trunc(known->numbers[0].value);
    l.values().Bind(l.node().outputs[0], *std::move(known));
    return absl::OkStatus();
  }
  return Convert(l, like.type);
}

absl::Status Identity(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  return l.Pass(x);
}

// A layer of the file, whichever mode it was exported in: training drops, evaluation does not.
absl::Status Dropout(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  double rate = l.Float("ratio", 0.5);
  if (l.Has(1)) {
    ASSIGN_OR_RETURN(rate, l.Scalar(1));
  }
  if (rate < 0 || rate >= 1) return InvalidArgument("ratio is {}; expected 0 or more, and below 1", rate);
  if (rate == 0) return l.Pass(x);
  return l.Result("dropout", {{"self", NameOf(x)}, {"p", rate}, {"train", true}}, x.type, x.sizes);
}

}  // namespace

void AddElementwise(Lowerings& lowerings) {
  for (const char* const name :
       {"Relu",  "Sigmoid", "Tanh",  "Erf",   "Exp",  "Log",   "Sqrt", "Neg",  "Abs",       "Reciprocal",
        "Floor", "Ceil",    "Round", "Sign",  "Sin",  "Cos",   "Tan",  "Mish", "HardSwish", "Softplus",
        "Acos",  "Acosh",   "Asin",  "Asinh", "Atan", "Atanh", "Cosh", "Sinh"}) {
    lowerings[name] = Named;
  }
  for (const char* const name : {"Min", "Max", "Sum", "Mean"}) lowerings[name] = Variadic;
  for (const char* const name : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
    lowerings[name] = Compare;
  for (const char* const name : {"And", "Or", "Xor"}) lowerings[name] = Logic;
  for (const char* const name : {"Not", "IsNaN", "IsInf"}) lowerings[name] = OfTruth;
  lowerings.insert({{"LeakyRelu", LeakyRelu},
                    {"Elu", Elu},
                    {"Celu", Celu},
                    {"Selu", Selu},
                    {"Gelu", Gelu},
                    {"ThresholdedRelu", ThresholdedRelu},
                    {"HardSigmoid", HardSigmoid},
                    {"Softsign", Softsign},
                    {"Swish", Swish},
                    {"Shrink", Shrink},
                    {"Clip", Clip},
                    {"PRelu", PRelu},
                    {"Add", Add},
                    {"Sub", Subtract},
                    {"Mul", Multiply},
                    {"Div", Divide},
                    {"Mod", Modulo},
                    {"Pow", Power},
                    {"Where", Where},
                    {"Cast", Cast},
                    {"CastLike", CastLike},
                    {"Identity", Identity},
                    {"Dropout", Dropout}});
}

}  // namespace partita::onnx
