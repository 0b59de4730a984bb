#include "importer/arithmetic.h"

#include <algorithm>

namespace partita::torch_export {

absl::StatusOr<std::string> NumberBeside(Translator& translator, const std::string& node, double number,
                                         const std::string& name) {
  const Shape shape = translator.ShapeOf(node).empty() ? Shape{} : Shape{1};
  return translator.Values(name + ".number", DType::kF32, shape, {number});
}

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

absl::StatusOr<std::string> AsType(Translator& translator, const std::string& node, DType type,
                                   const std::string& name) {
  if (IsFloating(type) || !IsFloating(translator.TypeOf(node))) return node;
  return translator.Add(name, "cast", {node}, {{"dtype", std::string(Name(type))}});
}

absl::StatusOr<Pair> PairOf(Translator& translator, const std::string& self, const std::string& other,
                            const std::string& name) {
  Pair pair;
  ASSIGN_OR_RETURN(pair.x, translator.Get(self));
  ASSIGN_OR_RETURN(pair.y, translator.Get(other));
  pair.integers = !IsFloating(translator.TypeOf(pair.x.node)) && !IsFloating(translator.TypeOf(pair.y.node));
  const bool y_leads = translator.ConstantOf(other) == nullptr && pair.x.rank() == pair.y.rank() &&
                       (pair.y.order == kChannelsLast || translator.ConstantOf(self) != nullptr);
  pair.order = pair.x.rank() >= pair.y.rank() && !y_leads ? pair.x.order : pair.y.order;
  ASSIGN_OR_RETURN(pair.x, Lifted(translator, pair.x, pair.order, name));
  ASSIGN_OR_RETURN(pair.y, Lifted(translator, pair.y, pair.order, name));
  ASSIGN_OR_RETURN(pair.x.node, translator.AsFloats(pair.x.node, name + ".self"));
  ASSIGN_OR_RETURN(pair.y.node, translator.AsFloats(pair.y.node, name + ".other"));
  return pair;
}

absl::StatusOr<std::string> Shifted(Translator& translator, const std::string& node, double number,
                                    const std::string& name) {
  if (number == 0) return node;
  ASSIGN_OR_RETURN(const std::string constant, NumberBeside(translator, node, number, name));
  return translator.Add(name, "add", {node, constant});
}

namespace {

// max(x, number), element by element.
absl::StatusOr<std::string> AtLeast(Translator& translator, const std::string& node, double number,
                                    const std::string& name) {
  if (number == 0) return translator.Add(name, "relu", {node});
  ASSIGN_OR_RETURN(const std::string constant, NumberBeside(translator, node, number, name));
  return translator.Add(name, "maximum", {node, constant});
}

}  // namespace

absl::StatusOr<std::string> Clamped(Translator& translator, std::string node, double least, double most,
                                    const std::string& name) {
  if (least == 0 && most == 6) return translator.Add(name, "relu6", {node});
  const bool below = !std::isinf(least), above = !std::isinf(most);
  if (below) {
    ASSIGN_OR_RETURN(node, AtLeast(translator, node, least, above ? name + ".least" : name));
  }
  if (!above) return node;
  ASSIGN_OR_RETURN(node, Scaled(translator, node, -1, name + ".negative"));
  ASSIGN_OR_RETURN(node, AtLeast(translator, node, -most, name + ".most"));
  return Scaled(translator, node, -1, name);
}

}  // namespace partita::torch_export
