// Comparisons, logic and choices: truth values are 0 and 1. And conversions between types.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
    return Made(translator, node, [](Formula& f, const std::string& x) { return f.Truth(x); });
  }
  if (IsFloat(to) && !IsFloating(translator.TypeOf(value.node))) {
    ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  } else if (!IsFloat(to) && to != ScalarType::kBool && IsFloating(translator.TypeOf(value.node))) {
    ASSIGN_OR_RETURN(value.node, AsType(translator, value.node, DType::kI32, name));
  }
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

absl::Status Compare(Translator& translator, const Node& node) {
  const std::string op = OpOf(node.target);
  if (const std::string other = OptionalTensorOf(node, "other"); !other.empty()) {
    ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
    ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, self, other, node.outputs[0]));
    Formula f(translator, node.outputs[0]);
    return Bound(f, f.Compared(op, pair.x.node, pair.y.node), pair.order);
  }
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const bool number = IsNumber(node, "other");
    return f.Compared(op, x,
                      number ? f.Argument(node, "other", x) : f.Number(SwitchOf(node, "other", false) ? 1 : 0, x));
  });
}

absl::Status IsNaN(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) { return f.Compared("ne", x, x); });
}

// x - x is NaN where x is not finite.
absl::Status IsFinite(Translator& translator, const Node& node) {
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string finite = f.Compared("eq", f("sub", {x, x}), f.Number(0, x));
    if (OpOf(node.target) == "isfinite") return finite;
    return f("mul", {f.Without(finite), f.Compared("eq", x, x)});
  });
}

// The truth of operands that are no truth values is that they are not 0.
absl::Status Logic(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  if (translator.MetaOf(name).type != ScalarType::kBool) return InvalidArgument("bits of integers");
  const std::string op = OpOf(node.target);
  const auto truth = [&](Formula& f, const std::string& operand, const std::string& x) {
    return translator.MetaOf(operand).type == ScalarType::kBool ? x : f.Truth(x);
  };
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  if (op.ends_with("not")) {
    return Made(translator, node, [&](Formula& f, const std::string& x) { return f.Without(truth(f, self, x)); });
  }
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, "other"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, self, other, name));
  Formula f(translator, name);
  const std::string x = truth(f, self, pair.x.node), y = truth(f, other, pair.y.node);
  if (op.find("xor") != std::string::npos) return Bound(f, f.Magnitude(f("sub", {x, y})), pair.order);
  return Bound(f, f.Result(op.find("and") != std::string::npos ? "mul" : "maximum", {x, y}), pair.order);
}

// Whether one or all elements hold, over a dimension or all of them.
absl::Status Quantified(Translator& translator, const Node& node) {
  const bool all = OpOf(node.target) == "all";
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  Formula f(translator, node.outputs[0]);
  x.node = f.Truth(x.node);
  if (all) x.node = f.Without(x.node);
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(const Imported count, Summed(translator, node, x, "sum", node.outputs[0] + ".sum"));
  const std::string any = f("greater", {count.node, f.Number(0, count.node)});
  return Bound(f, all ? f.Without(any) : any, count.order);
}

// One of the two values of a choice: a tensor or a number, which may be infinite.
struct Choice {
  Imported value;
  double infinite = 0;  // or that infinity
};

absl::StatusOr<Choice> ChoiceOf(Translator& translator, const Node& node, const std::string& argument) {
  const std::string& name = node.outputs[0];
  double number = NumberOf(node, argument, SwitchOf(node, argument, false) ? 1 : 0);
  const bool floats = IsFloat(translator.MetaOf(name).type);
  if (const std::string tensor = OptionalTensorOf(node, argument); !tensor.empty()) {
    const Constant* const constant = translator.ConstantOf(tensor);
    if (constant == nullptr || !constant->shape.empty()) {
      ASSIGN_OR_RETURN(Imported value, translator.Get(tensor));
      return Choice{std::move(value)};
    }
    number = constant->values()[0];
  }
  if (std::isinf(number)) return Choice{{}, number};
  if (std::isnan(number)) return InvalidArgument("it writes NaN");
  constexpr double kMost = std::numeric_limits<float>::max();
  number = std::clamp(number, -kMost, kMost);  // the least f64, of masks, is the least f32
  ASSIGN_OR_RETURN(std::string constant,
                   translator.Values(name + "." + argument, floats ? DType::kF32 : DType::kI32, Shape{1}, {number}));
  return Choice{{std::move(constant), InOrder(1)}};
}

// x where the condition is 1, and y where it is 0. Infinities are logarithms of 0.
absl::Status Choose(Translator& translator, const Node& node, const Imported& condition, const Choice& x,
                    const Choice& y) {
  Formula f(translator, node.outputs[0]);
  if (x.infinite != 0 && y.infinite != 0) return InvalidArgument("it chooses between infinities");
  const Imported* longest = &condition;
  for (const Imported* const value : {&y.value, &x.value}) {
    if (value->rank() >= longest->rank()) longest = value;
  }
  const Order order = longest->order;
  const std::string c = f.Lifted(condition, order);
  const auto lifted = [&](const Choice& choice) { return f.Floats(f.Lifted(choice.value, order)); };
  if (x.infinite == 0 && y.infinite == 0) return Bound(f, f.Chosen(c, lifted(x), lifted(y)), order);
  const bool first = x.infinite != 0;
  const std::string kept = first ? f.Without(c) : c;
  const std::string endless = f.Times(f("log", {kept}), (first ? x : y).infinite > 0 ? -1 : 1);
  return Bound(f, f.Result("add", {f("masked", {lifted(first ? y : x), kept}), endless}), order);
}

// The value that a condition of equal elements chooses for the whole result, such as the mask of a model whose words
// are all read; "": there is none.
std::string ChosenByAll(Translator& translator, const Node& node, const std::string& condition) {
  const Constant* const mask = translator.ConstantOf(condition);
  if (mask == nullptr || mask->counts_samples != 0) return "";
  const std::vector<double> elements = mask->values();
  if (elements.empty() || std::ranges::adjacent_find(elements, std::not_equal_to<>()) != elements.end()) return "";
  std::string chosen = OptionalTensorOf(node, elements[0] != 0 ? "self" : "other");
  if (chosen.empty()) return "";
  const auto same = [](const Size& a, const Size& b) { return a.value == b.value && a.symbol == b.symbol; };
  const TensorMeta &meta = translator.MetaOf(chosen), &result = translator.MetaOf(node.outputs[0]);
  return meta.type == result.type && std::ranges::equal(meta.sizes, result.sizes, same) ? chosen : "";
}

absl::Status Where(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string condition, TensorOf(node, "condition"));
  if (const std::string chosen = ChosenByAll(translator, node, condition); !chosen.empty()) {
    ASSIGN_OR_RETURN(Imported value, translator.Get(chosen));
    translator.Bind(node.outputs[0], std::move(value));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Imported c, translator.Get(condition));
  ASSIGN_OR_RETURN(const Choice x, ChoiceOf(translator, node, "self"));
  ASSIGN_OR_RETURN(const Choice y, ChoiceOf(translator, node, "other"));
  return Choose(translator, node, c, x, y);
}

absl::Status MaskedFill(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string mask, TensorOf(node, "mask"));
  ASSIGN_OR_RETURN(const Imported m, translator.Get(mask));
  ASSIGN_OR_RETURN(const Choice x, ChoiceOf(translator, node, "value"));
  ASSIGN_OR_RETURN(Imported y, translator.Get(self));
  return Choose(translator, node, m, x, Choice{std::move(y)});
}

}  // namespace

void AddLogic(Translations& translations) {
  for (const char* const name : {"eq", "ne", "lt", "le", "gt", "ge"}) translations[name] = Compare;
  for (const char* const name : {"__and__", "bitwise_and", "logical_and", "__or__", "bitwise_or", "logical_or",
                                 "__xor__", "bitwise_xor", "logical_xor", "bitwise_not", "logical_not"}) {
    translations[name] = Logic;
  }
  translations.insert({{"isnan", IsNaN},
                       {"isfinite", IsFinite},
                       {"isinf", IsFinite},
                       {"any", Quantified},
                       {"all", Quantified},
                       {"where", Where},
                       {"masked_fill", MaskedFill},
                       {"type_as", Convert},
                       {"to", Convert},
                       {"_to_copy", Convert}});
}

}  // namespace partita::torch_export
