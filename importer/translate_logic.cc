// Comparisons, logic and choices: truth values are 0 and 1. And conversions between types.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importer/arithmetic.h"
#include "importer/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// 0 and 1: what is not 0.
absl::StatusOr<std::string> Truth(Translator& translator, const std::string& x, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string floats, translator.AsFloats(x, name));
  ASSIGN_OR_RETURN(const std::string negative, Scaled(translator, floats, -1, name + ".negative"));
  ASSIGN_OR_RETURN(const std::string size, translator.Add(name + ".size", "maximum", {floats, negative}));
  return Clamped(translator, size, 0, 1, name);
}

absl::Status Convert(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  if (!translator.IsKnown(self) || !translator.IsKnown(name)) {
    translator.Bind(name, std::move(value));
    return absl::OkStatus();
  }
  const ScalarType from = translator.MetaOf(self).type, to = translator.MetaOf(name).type;
  if (to == ScalarType::kBool && from != ScalarType::kBool) {
    if (IsFloat(from)) return InvalidArgument("a conversion from {} to bool", Name(from));
    ASSIGN_OR_RETURN(value.node, Truth(translator, value.node, name));
  } else if (IsFloat(to) && !IsFloating(translator.TypeOf(value.node))) {
    ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  } else if (!IsFloat(to) && to != ScalarType::kBool && IsFloating(translator.TypeOf(value.node))) {
    if (IsFloat(from)) return InvalidArgument("a conversion from {} to {}", Name(from), Name(to));
    ASSIGN_OR_RETURN(value.node, AsType(translator, value.node, DType::kI32, name));
  }
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

// x - y of integers or truth values, as floats: they are whole numbers.
absl::StatusOr<Imported> WholeDifference(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  const std::string other = OptionalTensorOf(node, "other");
  if (IsFloat(translator.MetaOf(self).type) || (!other.empty() && IsFloat(translator.MetaOf(other).type))) {
    return InvalidArgument("a comparison of floats; of integers it is read");
  }
  if (!other.empty()) {
    ASSIGN_OR_RETURN(Pair pair, PairOf(translator, self, other, name));
    ASSIGN_OR_RETURN(std::string difference, translator.Add(name + ".difference", "sub", {pair.x.node, pair.y.node}));
    return Imported{std::move(difference), pair.order};
  }
  const double number = IsNumber(node, "other") ? NumberOf(node, "other", 0) : SwitchOf(node, "other", false) ? 1 : 0;
  if (!IsWhole(number)) return InvalidArgument("a comparison of integers with {}", number);
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  ASSIGN_OR_RETURN(value.node, Shifted(translator, value.node, -number, name + ".difference"));
  return value;
}

absl::Status Compare(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(Imported value, WholeDifference(translator, node));
  if (op == "ne" || op == "eq") {
    ASSIGN_OR_RETURN(value.node, Truth(translator, value.node, op == "ne" ? name : name + ".differs"));
    if (op == "eq") {
      ASSIGN_OR_RETURN(value.node, Scaled(translator, value.node, -1, name + ".negated"));
      ASSIGN_OR_RETURN(value.node, Shifted(translator, value.node, 1, name));
    }
  } else {
    if (op[0] == 'l') {
      ASSIGN_OR_RETURN(value.node, Scaled(translator, value.node, -1, name + ".negated"));
    }
    ASSIGN_OR_RETURN(value.node, Shifted(translator, value.node, op[1] == 'e' ? 1 : 0, name + ".shifted"));
    ASSIGN_OR_RETURN(value.node, Clamped(translator, value.node, 0, 1, name));
  }
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

// 1 - x of truth values.
absl::StatusOr<std::string> Not(Translator& translator, const std::string& x, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string negative, Scaled(translator, x, -1, name + ".negative"));
  return Shifted(translator, negative, 1, name);
}

absl::Status Logic(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  if (translator.MetaOf(name).type != ScalarType::kBool) return InvalidArgument("bits of integers");
  const std::string op = OpOf(node.target);
  if (op.ends_with("not")) {
    return Made(translator, node,
                [&](const std::string& x, const std::string& made) { return Not(translator, x, made); });
  }
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, "other"));
  for (const std::string& operand : {self, other}) {
    if (translator.MetaOf(operand).type != ScalarType::kBool) return InvalidArgument("logic of numbers");
  }
  ASSIGN_OR_RETURN(Pair pair, PairOf(translator, self, other, name));
  ASSIGN_OR_RETURN(pair.x.node, translator.Add(name, op.find("and") != std::string::npos ? "mul" : "maximum",
                                               {pair.x.node, pair.y.node}));
  translator.Bind(name, {std::move(pair.x.node), pair.order});
  return absl::OkStatus();
}

// c x + (1 - c) y: x where c is 1, and y where it is 0, digit by digit.
absl::StatusOr<Imported> Chosen(Translator& translator, const Imported& condition, const Imported& x, const Imported& y,
                                const std::string& name) {
  const Imported& longest = x.rank() >= y.rank() && x.rank() >= condition.rank() ? x
                            : y.rank() >= condition.rank()                       ? y
                                                                                 : condition;
  const Order order = longest.order;
  ASSIGN_OR_RETURN(Imported c, Lifted(translator, condition, order, name));
  ASSIGN_OR_RETURN(Imported a, Lifted(translator, x, order, name));
  ASSIGN_OR_RETURN(Imported b, Lifted(translator, y, order, name));
  const bool integers = !IsFloating(translator.TypeOf(a.node)) && !IsFloating(translator.TypeOf(b.node));
  ASSIGN_OR_RETURN(a.node, translator.AsFloats(a.node, name + ".x"));
  ASSIGN_OR_RETURN(b.node, translator.AsFloats(b.node, name + ".y"));
  ASSIGN_OR_RETURN(const std::string left, translator.Add(name + ".chosen", "mul", {c.node, a.node}));
  ASSIGN_OR_RETURN(std::string right, Not(translator, c.node, name + ".otherwise"));
  ASSIGN_OR_RETURN(right, translator.Add(name + ".others", "mul", {right, b.node}));
  ASSIGN_OR_RETURN(std::string chosen, translator.Add(integers ? name + ".sum" : name, "add", {left, right}));
  if (integers) {
    ASSIGN_OR_RETURN(chosen, AsType(translator, chosen, DType::kI32, name));
  }
  return Imported{std::move(chosen), order};
}

absl::StatusOr<Imported> NumberLike(Translator& translator, const Node& node, const std::string& argument) {
  const std::string& name = node.outputs[0];
  if (const std::string tensor = OptionalTensorOf(node, argument); !tensor.empty()) return translator.Get(tensor);
  constexpr double kMost = std::numeric_limits<float>::max();
  double number = NumberOf(node, argument, 0);
  if (!std::isfinite(number)) return InvalidArgument("it writes {}", number);
  number = std::clamp(number, -kMost, kMost);  // the least f64, of masks, is the least f32
  const bool floats = IsFloat(translator.MetaOf(name).type);
  ASSIGN_OR_RETURN(std::string constant,
                   translator.Values(name + "." + argument, floats ? DType::kF32 : DType::kI32, Shape{1}, {number}));
  return Imported{std::move(constant), InOrder(1)};
}

absl::Status Where(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string condition, TensorOf(node, "condition"));
  ASSIGN_OR_RETURN(const Imported c, translator.Get(condition));
  ASSIGN_OR_RETURN(const Imported x, NumberLike(translator, node, "self"));
  ASSIGN_OR_RETURN(const Imported y, NumberLike(translator, node, "other"));
  ASSIGN_OR_RETURN(Imported chosen, Chosen(translator, c, x, y, node.outputs[0]));
  translator.Bind(node.outputs[0], std::move(chosen));
  return absl::OkStatus();
}

// -infinity is added where the mask is 1, as the logarithm of 0.
absl::Status MaskedFill(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string mask, TensorOf(node, "mask"));
  const std::string value = OptionalTensorOf(node, "value");
  const Constant* const constant = value.empty() ? nullptr : translator.ConstantOf(value);
  const double number =
      constant != nullptr && constant->shape.empty() ? constant->values()[0] : NumberOf(node, "value", 0);
  ASSIGN_OR_RETURN(Imported m, translator.Get(mask));
  if (number == -std::numeric_limits<double>::infinity()) {
    ASSIGN_OR_RETURN(m.node, Not(translator, m.node, name + ".kept"));
    ASSIGN_OR_RETURN(m.node, translator.Add(name + ".log", "log", {m.node}));
    ASSIGN_OR_RETURN(Imported x, translator.Get(self));
    const Order order = x.rank() >= m.rank() ? x.order : m.order;
    ASSIGN_OR_RETURN(x, Lifted(translator, x, order, name));
    ASSIGN_OR_RETURN(m, Lifted(translator, m, order, name));
    ASSIGN_OR_RETURN(std::string sum, translator.Add(name, "add", {x.node, m.node}));
    translator.Bind(name, {std::move(sum), order});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Imported x, NumberLike(translator, node, "value"));
  ASSIGN_OR_RETURN(const Imported y, translator.Get(self));
  ASSIGN_OR_RETURN(Imported chosen, Chosen(translator, m, x, y, name));
  translator.Bind(name, std::move(chosen));
  return absl::OkStatus();
}

}  // namespace

void AddLogic(Translations& translations) {
  translations.insert({{"eq", Compare},
                       {"ne", Compare},
                       {"lt", Compare},
                       {"le", Compare},
                       {"gt", Compare},
                       {"ge", Compare},
                       {"__and__", Logic},
                       {"bitwise_and", Logic},
                       {"logical_and", Logic},
                       {"__or__", Logic},
                       {"bitwise_or", Logic},
                       {"logical_or", Logic},
                       {"bitwise_not", Logic},
                       {"logical_not", Logic},
                       {"where", Where},
                       {"masked_fill", MaskedFill},
                       {"type_as", Convert},
                       {"to", Convert},
                       {"_to_copy", Convert}});
}

}  // namespace partita::torch_export
