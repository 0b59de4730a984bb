// Element by element: sums, products and quotients of two operands, and what leaves every element as it is.
#include <optional>
#include <utility>

#include "importer/translation/arithmetic.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::Status Pass(Translator& translator, const Node& node) {
  const std::string name = OptionalTensorOf(node, node.arguments.contains("self") ? "self" : "input");
  ASSIGN_OR_RETURN(Imported value, translator.Get(name));
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

// x / y, as `rounding_mode` says: a quotient, or the whole number below it or nearer to 0.
std::string Quotient(Formula& f, const Node& node, const std::string& x, const std::string& y) {
  const auto found = node.arguments.find("rounding_mode");
  const auto* const mode = found == node.arguments.end() ? nullptr : std::get_if<std::string>(&found->second);
  const bool floor = OpOf(node.target) == "floor_divide" || (mode != nullptr && *mode == "floor");
  const std::string quotient = f("div", {x, y});
  if (floor) return f("floor", {quotient});
  if (mode == nullptr) return quotient;
  return f.Truncated(quotient);
}

// x - y floor(x / y), or with the quotient that is nearer to 0.
std::string Rest(Formula& f, const Node& node, const std::string& x, const std::string& y) {
  const std::string quotient = f("div", {x, y});
  const std::string whole = OpOf(node.target) == "fmod" ? f.Truncated(quotient) : f("floor", {quotient});
  return f("sub", {x, f("mul", {whole, y})});
}

std::string Smaller(Formula& f, const Node&, const std::string& x, const std::string& y) {
  return f.Negative(f("maximum", {f.Negative(x), f.Negative(y)}));
}

// log(exp(x) + exp(y)).
std::string LogOfSum(Formula& f, const Node&, const std::string& x, const std::string& y) {
  const std::string far = f.Negative(f.Magnitude(f("sub", {x, y})));
  return f("add", {f("maximum", {x, y}), f("log1p", {f("exp", {far})})});
}

std::string Same(Formula& f, const Node& node, const std::string& x, const std::string& y) {
  return f.Result(OpOf(node.target), {x, y});
}

// Of two operands, of which either may be a number.
using OfTwo = std::string (*)(Formula& f, const Node& node, const std::string& x, const std::string& y);
template <OfTwo kMake>
absl::Status Two(Translator& translator, const Node& node) {
  const std::string self = OptionalTensorOf(node, "self"), other = OptionalTensorOf(node, "other");
  Formula f(translator, node.outputs[0]);
  if (!self.empty() && !other.empty()) {
    ASSIGN_OR_RETURN(Pair pair, PairOf(translator, self, other, node.outputs[0]));
    return Bound(f, kMake(f, node, pair.x.node, pair.y.node), pair.order);
  }
  ASSIGN_OR_RETURN(Imported value, translator.Get(self.empty() ? other : self));
  value.node = f.Floats(value.node);
  const std::string number = f.Argument(node, self.empty() ? "self" : "other", value.node);
  const std::string result = self.empty() ? kMake(f, node, number, value.node) : kMake(f, node, value.node, number);
  return Bound(f, result, value.order);
}

// x + alpha y, x - alpha y, x y: of tensors.
absl::Status OfTensors(Translator& translator, const Node& node, const std::string& op) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, "other"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, self, other, node.outputs[0]));
  Formula f(translator, node.outputs[0]);
  // The sum of truth values is whether one holds.
  const bool truth = op == "add" && translator.MetaOf(node.outputs[0]).type == ScalarType::kBool;
  const std::string y = f.Times(pair.y.node, NumberOf(node, "alpha", 1));
  return Bound(f, f.Result(truth ? "maximum" : op, {pair.x.node, y}), pair.order);
}

// A number of samples as a tensor without dimensions.
absl::Status ScalarTensor(Translator& translator, const Node& node) {
  if (!IsOfBatch(node, "s")) return InvalidArgument("it makes a tensor of no number");
  Formula f(translator, node.outputs[0]);
  const std::string samples = f.Argument(node, "s", "");
  RETURN_IF_ERROR(f.status());
  translator.Bind(node.outputs[0], {samples, {}});
  return absl::OkStatus();
}

absl::Status OfNumber(Translator& translator, const Node& node, double factor, double number) {
  for (const char* const argument : {"other", "alpha"}) RETURN_IF_ERROR(CheckFixed(node, argument));
  return Made(translator, node, [&](Formula& f, const std::string& x) { return f.Plus(f.Times(x, factor), number); });
}

// x + sign alpha number, of a number that varies with the batch.
absl::Status Moved(Translator& translator, const Node& node, double sign) {
  RETURN_IF_ERROR(CheckFixed(node, "alpha"));
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    return f.Result("add", {x, f.Times(f.Argument(node, "other", x), sign * NumberOf(node, "alpha", 1))});
  });
}

absl::Status Add(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "add");
  if (IsOfBatch(node, "other")) return Moved(translator, node, 1);
  return OfNumber(translator, node, 1, NumberOf(node, "other", 0) * NumberOf(node, "alpha", 1));
}
absl::Status Subtract(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "sub");
  if (IsOfBatch(node, "other")) return Moved(translator, node, -1);
  return OfNumber(translator, node, 1, -NumberOf(node, "other", 0) * NumberOf(node, "alpha", 1));
}
absl::Status SubtractFrom(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) {
    Formula f(translator, node.outputs[0]);
    const Pair pair = f.Kept([&] {
      return PairOf(translator, OptionalTensorOf(node, "self"), OptionalTensorOf(node, "other"), node.outputs[0]);
    });
    return Bound(f, f.Result("sub", {pair.y.node, f.Times(pair.x.node, NumberOf(node, "alpha", 1))}), pair.order);
  }
  if (IsOfBatch(node, "other")) {
    RETURN_IF_ERROR(CheckFixed(node, "alpha"));
    return Made(translator, node, [&](Formula& f, const std::string& x) {
      return f.Result("add", {f.Times(x, -NumberOf(node, "alpha", 1)), f.Argument(node, "other", x)});
    });
  }
  return OfNumber(translator, node, -NumberOf(node, "alpha", 1), NumberOf(node, "other", 0));
}
absl::Status Multiply(Translator& translator, const Node& node) {
  if (!IsNumber(node, "other")) return OfTensors(translator, node, "mul");
  if (!IsOfBatch(node, "other")) return OfNumber(translator, node, NumberOf(node, "other", 1), 0);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    return f.Result("mul", {x, f.Argument(node, "other", x)});
  });
}
absl::Status Divide(Translator& translator, const Node& node) {
  const auto mode = node.arguments.find("rounding_mode");
  const bool rounds = OpOf(node.target) == "floor_divide" ||
                      (mode != node.arguments.end() && std::holds_alternative<std::string>(mode->second));
  if (!rounds && IsOfBatch(node, "other")) {
    return Made(translator, node, [&](Formula& f, const std::string& x) {
      return f.Result("over", {x, f.Argument(node, "other", x)});
    });
  }
  if (rounds || !IsNumber(node, "other")) return Two<Quotient>(translator, node);
  return OfNumber(translator, node, 1 / NumberOf(node, "other", 1), 0);
}
absl::Status Negate(Translator& translator, const Node& node) { return OfNumber(translator, node, -1, 0); }

// self + value tensor1 tensor2.
absl::Status AddProduct(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "tensor1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "tensor2"));
  ASSIGN_OR_RETURN(const Pair factors, PairOf(translator, first, second, node.outputs[0]));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  Formula f(translator, node.outputs[0]);
  std::string product = f(OpOf(node.target) == "addcdiv" ? "div" : "mul", {factors.x.node, factors.y.node});
  product = f.Times(product, NumberOf(node, "value", 1));
  const Order order = factors.order.size() >= x.rank() ? factors.order : x.order;
  return Bound(f, f.Result("add", {f.Lifted(x, order), f.Lifted({product, factors.order}, order)}), order);
}

// self + weight (end - self).
absl::Status Between(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string end, TensorOf(node, "end"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, self, end, node.outputs[0]));
  Formula f(translator, node.outputs[0]);
  std::string way = f("sub", {pair.y.node, pair.x.node});
  if (const std::string weight = OptionalTensorOf(node, "weight"); !weight.empty()) {
    const Imported value = f.Kept([&] { return translator.Get(weight); });
    way = f("mul", {way, f.Floats(f.Lifted(value, pair.order))});
  } else {
    way = f.Times(way, NumberOf(node, "weight", 0));
  }
  return Bound(f, f.Result("add", {pair.x.node, way}), pair.order);
}

}  // namespace

void AddElementwise(Translations& translations) {
  for (const char* const name : {"contiguous", "clone", "alias", "lift_fresh_copy", "positive"}) {
    translations[name] = Pass;
  }
  translations.insert({{"add", Add},
                       {"sub", Subtract},
                       {"subtract", Subtract},
                       {"rsub", SubtractFrom},
                       {"mul", Multiply},
                       {"multiply", Multiply},
                       {"div", Divide},
                       {"divide", Divide},
                       {"true_divide", Divide},
                       {"floor_divide", Divide},
                       {"neg", Negate},
                       {"negative", Negate},
                       {"remainder", Two<Rest>},
                       {"fmod", Two<Rest>},
                       {"maximum", Two<Same>},
                       {"minimum", Two<Smaller>},
                       {"logaddexp", Two<LogOfSum>},
                       {"scalar_tensor", ScalarTensor},
                       {"addcmul", AddProduct},
                       {"addcdiv", AddProduct},
                       {"lerp", Between}});
}

}  // namespace partita::torch_export
