#include "importer/translation/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace partita::torch_export {

std::string Formula::operator()(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes) {
  return Kept([&] { return translator_.Add(fmt::format("{}.{}", name_, op), op, inputs, std::move(attributes)); });
}

std::string Formula::Result(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes) {
  return Kept([&] { return translator_.Add(name_, op, inputs, std::move(attributes)); });
}

std::string Formula::Number(double number, const std::string& beside) {
  if (!status_.ok()) return "";
  const Shape shape = translator_.ShapeOf(beside).empty() ? Shape{} : Shape{1};
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::isfinite(number)) number = std::clamp(number, -kMost, kMost);  // the least f64, of bounds, is the least f32
  return Kept([&] { return translator_.Values(name_ + ".number", DType::kF32, shape, {number}); });
}

std::string Formula::Times(const std::string& x, double factor) {
  return factor == 1 ? x : (*this)("scale", {x}, {{"factor", factor}});
}

std::string Formula::Plus(const std::string& x, double number) {
  return number == 0 ? x : (*this)("add", {x, Number(number, x)});
}

std::string Formula::Clamped(std::string x, double least, double most) {
  // A maximum would give a number at a bound half its gradient. NaN is beyond no bound, and stays.
  const auto bounded = [&](double bound, bool below) {
    const std::string number = Number(bound, x);
    const std::string beyond = below ? Compared("ge", number, x) : Compared("ge", x, number);
    return (*this)("add", {(*this)("masked", {x, Without(beyond)}), Times(beyond, bound)});
  };
  if (least == 0 && most == 6) return (*this)("relu6", {x});
  if (least > most) least = most;
  if (!std::isinf(least)) x = least == 0 ? (*this)("relu", {x}) : bounded(least, true);
  if (!std::isinf(most)) x = most == 0 ? Negative((*this)("relu", {Negative(x)})) : bounded(most, false);
  return x;
}

std::string Formula::Truncated(const std::string& x) {
  return (*this)("sub", {(*this)("floor", {(*this)("relu", {x})}), (*this)("floor", {(*this)("relu", {Negative(x)})})});
}

std::string Formula::Root(const std::string& x) {
  const std::string above = (*this)("maximum", {x, Number(std::numeric_limits<float>::min(), x)});
  return (*this)("masked", {(*this)("sqrt", {above}), x});
}

std::string Formula::Raised(const std::string& x, double exponent) {
  const std::string base = exponent > 1 ? (*this)("add", {x, Compared("eq", x, Number(0, x))}) : x;
  const std::string power = (*this)("exp", {Times((*this)("log", {base}), exponent)});
  return exponent > 1 ? (*this)("masked", {power, x}) : power;
}

std::string Formula::Softplus(const std::string& x) {
  const std::string positive = (*this)("maximum", {x, Number(0, x)});  // whose derivative at 0 is 1/2, that of all
  return (*this)("add", {positive, (*this)("log1p", {(*this)("exp", {Negative(Magnitude(x))})})});
}

std::string Formula::Truth(const std::string& x) {
  const std::string size = Magnitude(Floats(x));
  return (*this)("greater", {size, Number(0, size)});
}

std::string Formula::Compared(const std::string& op, const std::string& x, const std::string& y) {
  if (op == "gt") return (*this)("greater", {x, y});
  if (op == "lt") return (*this)("greater", {y, x});
  if (op == "ge") return (*this)("greater_equal", {x, y});
  if (op == "le") return (*this)("greater_equal", {y, x});
  const std::string equal = (*this)("mul", {(*this)("greater_equal", {x, y}), (*this)("greater_equal", {y, x})});
  return op == "eq" ? equal : Without(equal);
}

std::string Formula::Chosen(const std::string& condition, const std::string& x, const std::string& y) {
  return (*this)("add", {(*this)("masked", {x, condition}), (*this)("masked", {y, Without(condition)})});
}

std::string Formula::Samples() {
  const std::string zeros = Kept([this] { return translator_.BatchOfZeros(1, name_); });
  return (*this)("sum", {Plus(zeros, 1)});
}

std::string Formula::Argument(const Node& node, const std::string& argument, const std::string& beside) {
  if (!IsOfBatch(node, argument)) return Number(NumberOf(node, argument, 0), beside);
  const Size& size = std::get<Size>(node.arguments.at(argument));
  const auto number = Kept([&]() -> absl::StatusOr<Translator::BatchNumber> {
    if (const auto known = translator_.NumberOfBatch(size)) return *known;
    return InvalidArgument(
        "it computes with a number that varies with the batch ({}); its size, multiples of that, and sums of these and "
        "numbers are read",
        size.symbol);
  });
  return Plus(Times(Samples(), number.each), number.more);
}

bool IsOfBatch(const Node& node, const std::string& argument) {
  const auto found = node.arguments.find(argument);
  const auto* const size = found == node.arguments.end() ? nullptr : std::get_if<Size>(&found->second);
  return size != nullptr && !size->symbol.empty();
}

std::string Formula::Lifted(const Imported& value, const Order& order) {
  return Kept([&] { return torch_export::Lifted(translator_, value, order, name_); }).node;
}

absl::StatusOr<Imported> Lifted(Translator& translator, const Imported& value, const Order& order,
                                const std::string& name) {
  Imported lifted = value;
  if (lifted.rank() < order.size()) {
    ASSIGN_OR_RETURN(lifted, translator.In(lifted, InOrder(lifted.rank()), name));
    if (order == InOrder(order.size())) return lifted;  // broadcast from the last dimension, as here
    Shape shape(order.size() - lifted.rank(), 1);
    const Shape own = translator.ShapeOf(lifted.node);
    bool open = false;  // one size may be
    for (size_t d = 0; d < own.size(); ++d) {
      const bool varies = !open && translator.Varies(lifted.node, d);
      shape.push_back(varies ? -1 : own[d]);
      open |= varies;
    }
    ASSIGN_OR_RETURN(lifted.node, translator.Add(name + ".lifted", "reshape", {lifted.node}, {{"shape", shape}}));
    lifted.order = InOrder(order.size());
  }
  return translator.In(lifted, order, name);
}

absl::StatusOr<std::string> AsType(Translator& translator, const std::string& node, DType type,
                                   const std::string& name) {
  if (IsFloating(type) || !IsFloating(translator.TypeOf(node))) return node;
  return translator.Add(name, "cast", {node}, {{"dtype", std::string(Name(type))}});
}

absl::Status Bound(Formula& formula, const std::string& node, Order order) {
  Translator& translator = formula.translator();
  const std::string& name = formula.name();
  const ScalarType type = translator.MetaOf(name).type;
  std::string result = node;
  if (translator.IsKnown(name) && !IsFloat(type) && type != ScalarType::kBool) {
    result = formula.Kept([&] { return AsType(translator, node, DType::kI32, name); });
  }
  RETURN_IF_ERROR(formula.status());
  translator.Bind(name, {std::move(result), std::move(order)});
  return absl::OkStatus();
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

}  // namespace partita::torch_export
