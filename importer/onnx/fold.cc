// Computes with numbers that are known while the file is read: shapes, and what graphs make of them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "importer/onnx/lowering.h"
#include "importer/program/stored_elements.h"

namespace partita::onnx {
namespace {

int64_t CountOf(const IntList& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

IntList StridesOf(const IntList& shape) {
  IntList strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// The operands of one node. A step that has no answer for them gives nothing, and the node is lowered as others are.
class Folding {
 public:
  Folding(Lowering& lowering, std::vector<std::optional<Known>> operands)
      : lowering_(lowering), operands_(std::move(operands)) {}

  std::optional<Known> Run();

 private:
  using Step = std::optional<Known> (Folding::*)();
  const Known& x() const { return *operands_[0]; }
  const Known& y() const { return *operands_[1]; }
  bool Has(size_t i) const { return i < operands_.size() && operands_[i].has_value(); }
  // All integers of an operand that is there; nothing: some depend on the batch.
  std::optional<IntList> Integers(size_t i) const {
    if (!Has(i)) return std::nullopt;
    IntList integers;
    for (const Number& number : operands_[i]->numbers) {
      if (number.of_batch) return std::nullopt;
      integers.push_back(static_cast<int64_t>(std::clamp(number.value, -4e18, 4e18)));
    }
    return integers;
  }
  std::optional<IntList> Axes(size_t i, size_t rank) const {
    const absl::StatusOr<std::vector<size_t>> axes = lowering_.Axes(i, rank);
    if (!axes.ok()) return std::nullopt;
    return IntList(axes->begin(), axes->end());
  }

  std::optional<Known> Same() { return x(); }
  std::optional<Known> Cast();
  std::optional<Known> Gather();
  std::optional<Known> Concat();
  std::optional<Known> Unsqueeze();
  std::optional<Known> Squeeze();
  std::optional<Known> Reshape();
  std::optional<Known> Slice();
  std::optional<Known> Transpose();
  std::optional<Known> Moved(const IntList& shape, const IntList& strides, int64_t offset) const;
  std::optional<Known> Range();
  std::optional<Known> Filled();
  std::optional<Known> Expand();
  std::optional<Known> Where();
  std::optional<Known> Arithmetic();
  std::optional<Known> Compare();
  std::optional<Known> Unary();
  std::optional<Known> Reduce();

  // Both operands as often as their result has elements.
  std::optional<Known> Paired(const std::function<std::optional<Number>(const Number&, const Number&)>& make,
                              std::optional<ScalarType> type = std::nullopt);

  Lowering& lowering_;
  std::vector<std::optional<Known>> operands_;
};

std::optional<Known> Folding::Run() {
  static const auto& steps = *new std::map<std::string, Step>{{"Identity", &Folding::Same},
                                                              {"Cast", &Folding::Cast},
                                                              {"Gather", &Folding::Gather},
                                                              {"Concat", &Folding::Concat},
                                                              {"Unsqueeze", &Folding::Unsqueeze},
                                                              {"Squeeze", &Folding::Squeeze},
                                                              {"Reshape", &Folding::Reshape},
                                                              {"Slice", &Folding::Slice},
                                                              {"Transpose", &Folding::Transpose},
                                                              {"Range", &Folding::Range},
                                                              {"ConstantOfShape", &Folding::Filled},
                                                              {"Expand", &Folding::Expand},
                                                              {"Where", &Folding::Where},
                                                              {"Add", &Folding::Arithmetic},
                                                              {"Sub", &Folding::Arithmetic},
                                                              {"Mul", &Folding::Arithmetic},
                                                              {"Div", &Folding::Arithmetic},
                                                              {"Mod", &Folding::Arithmetic},
                                                              {"Min", &Folding::Arithmetic},
                                                              {"Max", &Folding::Arithmetic},
                                                              {"Pow", &Folding::Arithmetic},
                                                              {"Equal", &Folding::Compare},
                                                              {"Less", &Folding::Compare},
                                                              {"LessOrEqual", &Folding::Compare},
                                                              {"Greater", &Folding::Compare},
                                                              {"GreaterOrEqual", &Folding::Compare},
                                                              {"Neg", &Folding::Unary},
                                                              {"Abs", &Folding::Unary},
                                                              {"Sqrt", &Folding::Unary},
                                                              {"Floor", &Folding::Unary},
                                                              {"Ceil", &Folding::Unary},
                                                              {"Reciprocal", &Folding::Unary},
                                                              {"Not", &Folding::Unary},
                                                              {"ReduceProd", &Folding::Reduce},
                                                              {"ReduceSum", &Folding::Reduce},
                                                              {"ReduceMax", &Folding::Reduce},
                                                              {"ReduceMin", &Folding::Reduce}};
  const auto step = steps.find(lowering_.op());
  return step == steps.end() ? std::nullopt : (this->*step->second)();
}

std::optional<Known> Folding::Cast() {
  const absl::StatusOr<ScalarType> type = TypeOf(static_cast<int>(lowering_.Integer("to", kUndefined)));
  if (!type.ok()) return std::nullopt;
  Known result = x();
  result.type = *type;
  for (Number& number : result.numbers) {
    if (*type == ScalarType::kBool) number = {number.value != 0 ? 1.0 : 0.0};
    if (!torch_export::IsFloat(*type)) number.value = std::trunc(number.value);
    if (*type == ScalarType::kF32) number.value = static_cast<float>(number.value);
  }
  return result;
}

std::optional<Known> Folding::Gather() {
  const std::optional<IntList> indices = Integers(1);
  if (!indices || x().shape.size() != 1 || lowering_.Integer("axis", 0) > 0) return std::nullopt;
  Known result{x().type, y().shape, {}};
  const auto size = static_cast<int64_t>(x().numbers.size());
  for (const int64_t index : *indices) {
    if (index < -size || index >= size) return std::nullopt;
    result.numbers.push_back(x().numbers[static_cast<size_t>(index < 0 ? index + size : index)]);
  }
  return result;
}

std::optional<Known> Folding::Concat() {
  Known result{x().type, {0}, {}};
  for (const std::optional<Known>& operand : operands_) {
    if (!operand || operand->shape.size() != 1) return std::nullopt;
    result.numbers.insert(result.numbers.end(), operand->numbers.begin(), operand->numbers.end());
  }
  result.shape[0] = static_cast<int64_t>(result.numbers.size());
  return result;
}

std::optional<Known> Folding::Unsqueeze() {
  const size_t count = Has(1) ? y().numbers.size() : lowering_.List("axes").size();
  const std::optional<IntList> axes = Axes(1, x().shape.size() + count);
  if (!axes) return std::nullopt;
  Known result = x();
  const size_t rank = x().shape.size() + axes->size();
  result.shape = IntList(rank, 1);
  for (size_t d = 0, from = 0; d < rank; ++d) {
    if (std::ranges::find(*axes, static_cast<int64_t>(d)) == axes->end()) result.shape[d] = x().shape[from++];
  }
  return result;
}

std::optional<Known> Folding::Squeeze() {
  const std::optional<IntList> axes = Axes(1, x().shape.size());
  if (!axes) return std::nullopt;
  Known result{x().type, {}, x().numbers};
  for (size_t d = 0; d < x().shape.size(); ++d) {
    const bool named = std::ranges::find(*axes, static_cast<int64_t>(d)) != axes->end();
    if (named && x().shape[d] != 1) return std::nullopt;
    if (axes->empty() ? x().shape[d] != 1 : !named) result.shape.push_back(x().shape[d]);
  }
  return result;
}

std::optional<Known> Folding::Reshape() {
  const std::optional<IntList> target = Integers(1);
  if (!target) return std::nullopt;
  Known result{x().type, *target, x().numbers};
  int64_t product = 1, open = -1;
  for (size_t d = 0; d < target->size(); ++d) {
    if (result.shape[d] == 0 && d < x().shape.size()) result.shape[d] = x().shape[d];
    if (result.shape[d] < -1 || result.shape[d] > kMostKnown) return std::nullopt;
    if (result.shape[d] == -1)
      open = static_cast<int64_t>(d);
    else
      product *= result.shape[d];
    if (product > kMostKnown) return std::nullopt;
  }
  const int64_t count = CountOf(x().shape);
  if (open >= 0 && product > 0) result.shape[static_cast<size_t>(open)] = count / product;
  if (CountOf(result.shape) != count) return std::nullopt;
  return result;
}

// The elements of x, of which the one at an index lies as far on as the strides say.
std::optional<Known> Folding::Moved(const IntList& shape, const IntList& strides, int64_t offset) const {
  Known result{x().type, shape, {}};
  IntList at(shape.size(), 0);
  for (int64_t left = CountOf(shape); left > 0; --left) {
    int64_t place = offset;
    for (size_t d = 0; d < shape.size(); ++d) place += at[d] * strides[d];
    result.numbers.push_back(x().numbers[static_cast<size_t>(place)]);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return result;
}

std::optional<Known> Folding::Transpose() {
  const IntList order = lowering_.List("perm"), strides = StridesOf(x().shape);
  const size_t rank = x().shape.size();
  if (!order.empty() && order.size() != rank) return std::nullopt;
  IntList shape, moved;
  for (size_t d = 0; d < rank; ++d) {
    const auto from = order.empty() ? static_cast<int64_t>(rank - 1 - d) : order[d];
    if (from < 0 || from >= static_cast<int64_t>(rank) || std::ranges::count(order, from) > 1) return std::nullopt;
    shape.push_back(x().shape[static_cast<size_t>(from)]);
    moved.push_back(strides[static_cast<size_t>(from)]);
  }
  return Moved(shape, moved, 0);
}

std::optional<Known> Folding::Slice() {
  const bool inputs = lowering_.Has(1);
  const std::optional<IntList> starts = inputs ? Integers(1) : lowering_.List("starts"),
                               ends = inputs ? Integers(2) : lowering_.List("ends");
  const std::optional<IntList> steps = lowering_.Has(4) ? Integers(4) : IntList{1};
  std::optional<IntList> axes = Axes(3, x().shape.size());
  if (axes && axes->empty()) axes = IntList{0};
  const auto one = [](const std::optional<IntList>& list) { return list && list->size() == 1; };
  if (!one(starts) || !one(ends) || !one(steps) || !one(axes) || x().shape.empty()) return std::nullopt;
  const auto axis = static_cast<size_t>((*axes)[0]);
  const int64_t size = x().shape[axis], step = (*steps)[0];
  if (step == 0 || std::abs(step) > kMostKnown) return std::nullopt;
  int64_t begin = (*starts)[0], end = (*ends)[0];
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  begin = std::clamp<int64_t>(begin, 0, step > 0 ? size : size - 1);
  end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, size);
  IntList shape = x().shape, strides = StridesOf(shape);
  shape[axis] = std::max<int64_t>(0, (end - begin + step + (step > 0 ? -1 : 1)) / step);
  const int64_t offset = begin * strides[axis];
  strides[axis] *= step;
  return Moved(shape, strides, offset);
}

std::optional<Known> Folding::Range() {
  const std::optional<IntList> begin = Integers(0), end = Integers(1), step = Integers(2);
  if (!begin || !end || !step || torch_export::IsFloat(x().type) || (*step)[0] == 0) return std::nullopt;
  const int64_t size = ((*end)[0] - (*begin)[0] + (*step)[0] + ((*step)[0] > 0 ? -1 : 1)) / (*step)[0];
  if (size > kMostKnown || size < 0) return std::nullopt;
  Known result{x().type, {size}, {}};
  for (int64_t i = 0; i < size; ++i) result.numbers.push_back({static_cast<double>((*begin)[0] + i * (*step)[0])});
  return result;
}

std::optional<Known> Folding::Filled() {
  const std::optional<IntList> shape = Integers(0);
  if (!shape || shape->size() > 1) return std::nullopt;
  const int64_t count = shape->empty() ? 1 : (*shape)[0];
  if (count < 0 || count > kMostKnown) return std::nullopt;
  Known result{ScalarType::kF32, *shape, {}};
  Number value;
  const auto found = lowering_.node().attributes.find("value");
  if (found != lowering_.node().attributes.end() && !found->second.tensors.empty()) {
    constexpr const char* kValue = "@value";
    if (!lowering_.values().Bind(kValue, found->second.tensors[0]).ok()) return std::nullopt;
    const std::optional<Known> known = lowering_.values().Elements(kValue);
    if (!known || known->numbers.size() != 1) return std::nullopt;
    value = known->numbers[0];
    result.type = known->type;
  }
  if (torch_export::IsFloat(result.type)) return std::nullopt;
  result.numbers.assign(static_cast<size_t>(count), value);
  return result;
}

std::optional<Known> Folding::Expand() {
  const std::optional<IntList> shape = Integers(1);
  if (!shape || shape->size() > 1 || x().numbers.size() != 1) return std::nullopt;
  const int64_t count = shape->empty() ? 1 : (*shape)[0];
  if (count < 0 || count > kMostKnown) return std::nullopt;
  return Known{x().type, *shape, std::vector<Number>(static_cast<size_t>(count), x().numbers[0])};
}

std::optional<Known> Folding::Paired(const std::function<std::optional<Number>(const Number&, const Number&)>& make,
                                     std::optional<ScalarType> type) {
  if (!Has(1) || operands_.size() != 2) return std::nullopt;
  const bool x_is_one = x().numbers.size() == 1, y_is_one = y().numbers.size() == 1;
  if (!x_is_one && !y_is_one && x().shape != y().shape) return std::nullopt;
  const bool of_x = !x_is_one || (y_is_one && x().shape.size() >= y().shape.size());
  Known result{type ? *type : x().type, of_x ? x().shape : y().shape, {}};
  for (int64_t i = 0; i < CountOf(result.shape); ++i) {
    const auto at = static_cast<size_t>(i);
    const std::optional<Number> number = make(x().numbers[x_is_one ? 0 : at], y().numbers[y_is_one ? 0 : at]);
    if (!number) return std::nullopt;
    result.numbers.push_back(*number);
  }
  return result;
}

// Multiples of the batch are added, and multiplied with and divided by other numbers.
std::optional<Known> Folding::Arithmetic() {
  const std::string& op = lowering_.op();
  const bool floats = torch_export::IsFloat(x().type);
  return Paired([&](const Number& a, const Number& b) -> std::optional<Number> {
    if (op == "Add" || op == "Sub") {
      const double value = op == "Add" ? a.value + b.value : a.value - b.value;
      if (a.of_batch != b.of_batch && a.value != 0 && b.value != 0) return std::nullopt;
      return Number{value, (a.of_batch || b.of_batch) && value != 0};
    }
    if (op == "Mul") {
      if (a.of_batch && b.of_batch) return std::nullopt;
      return Number{a.value * b.value, (a.of_batch || b.of_batch) && a.value * b.value != 0};
    }
    if (op == "Div") {
      if (b.value == 0 || (b.of_batch && !a.of_batch)) return std::nullopt;
      const double quotient = a.value / b.value;
      const bool of_batch = a.of_batch && !b.of_batch;
      const int64_t samples = lowering_.values().batch();
      if (of_batch && std::fmod(quotient, static_cast<double>(samples)) != 0) return std::nullopt;
      return Number{floats ? quotient : std::trunc(quotient), of_batch};
    }
    if (a.of_batch || b.of_batch) return std::nullopt;
    if (op == "Mod") {
      if (b.value == 0) return std::nullopt;
      return Number{a.value - b.value * std::floor(a.value / b.value)};
    }
    if (op == "Pow") return Number{std::pow(a.value, b.value)};
    return Number{op == "Min" ? std::min(a.value, b.value) : std::max(a.value, b.value)};
  });
}

std::optional<Known> Folding::Compare() {
  const std::string& op = lowering_.op();
  return Paired(
      [&](const Number& a, const Number& b) -> std::optional<Number> {
        // No size is below 0, as numbers that stand for "all" are.
        const bool differ = a.of_batch != b.of_batch && (a.of_batch ? b.value : a.value) > 0;
        if (differ) return std::nullopt;
        const bool holds = op == "Equal"         ? a.value == b.value
                           : op == "Less"        ? a.value < b.value
                           : op == "LessOrEqual" ? a.value <= b.value
                           : op == "Greater"     ? a.value > b.value
                                                 : a.value >= b.value;
        return Number{holds ? 1.0 : 0.0};
      },
      ScalarType::kBool);
}

std::optional<Known> Folding::Where() {
  if (!Has(1) || !Has(2)) return std::nullopt;
  const size_t count = std::max({x().numbers.size(), y().numbers.size(), operands_[2]->numbers.size()});
  Known result{y().type, {}, {}};
  for (const std::optional<Known>& operand : operands_) {
    if (operand->numbers.size() != 1 && operand->numbers.size() != count) return std::nullopt;
    if (operand->shape.size() > 1) return std::nullopt;
    if (operand->shape.size() > result.shape.size()) result.shape = operand->shape;
  }
  if (!result.shape.empty()) result.shape[0] = static_cast<int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](size_t k) { return operands_[k]->numbers[operands_[k]->numbers.size() == 1 ? 0 : i]; };
    result.numbers.push_back(at(0).value != 0 ? at(1) : at(2));
  }
  return result;
}

std::optional<Known> Folding::Unary() {
  const std::string& op = lowering_.op();
  Known result = x();
  for (Number& number : result.numbers) {
    if (number.of_batch) return std::nullopt;
    double& v = number.value;
    v = op == "Neg"          ? -v
        : op == "Abs"        ? std::abs(v)
        : op == "Sqrt"       ? std::sqrt(v)
        : op == "Floor"      ? std::floor(v)
        : op == "Ceil"       ? std::ceil(v)
        : op == "Reciprocal" ? 1 / v
                             : static_cast<double>(v == 0);
  }
  return result;
}

std::optional<Known> Folding::Reduce() {
  const std::string& op = lowering_.op();
  if (x().shape.size() > 1 || x().numbers.empty()) return std::nullopt;
  Number result = x().numbers[0];
  for (size_t i = 1; i < x().numbers.size(); ++i) {
    const Number& next = x().numbers[i];
    if (op == "ReduceProd") {
      if (result.of_batch && next.of_batch) return std::nullopt;
      result = {result.value * next.value, result.of_batch || next.of_batch};
      continue;
    }
    if (result.of_batch || next.of_batch) return std::nullopt;
    result.value = op == "ReduceSum"   ? result.value + next.value
                   : op == "ReduceMax" ? std::max(result.value, next.value)
                                       : std::min(result.value, next.value);
  }
  IntList shape;
  if (lowering_.Integer("keepdims", 1) != 0) shape = IntList(x().shape.size(), 1);
  return Known{x().type, shape, {result}};
}

// Shape and Size need no elements.
absl::StatusOr<bool> FoldSizes(Lowering& lowering) {
  Sizes sizes;
  if (lowering.Has(0)) {
    if (const std::optional<Known> operand = lowering.values().Find(lowering.node().inputs[0]); operand) {
      for (const int64_t size : operand->shape) sizes.push_back({size});
    } else {
      ASSIGN_OR_RETURN(const Value x, lowering.In(0));
      sizes = x.sizes;
    }
  }
  Known known;
  if (lowering.op() == "Size") {
    Number count{1};
    for (const Size& size : sizes) {
      if (count.of_batch && !size.symbol.empty()) return InvalidArgument("it counts samples twice");
      count = {count.value * static_cast<double>(size.value), count.of_batch || !size.symbol.empty()};
    }
    known.numbers = {count};
  } else {
    const auto rank = static_cast<int64_t>(sizes.size());
    const auto place = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t begin = place(lowering.Integer("start", 0)), end = place(lowering.Integer("end", rank));
    for (int64_t d = begin; d < end; ++d) known.numbers.push_back(NumberOf(sizes[static_cast<size_t>(d)]));
    known.shape = {static_cast<int64_t>(known.numbers.size())};
  }
  lowering.values().Bind(lowering.node().outputs[0], std::move(known));
  return true;
}

}  // namespace

absl::StatusOr<bool> Fold(Lowering& lowering) {
  const OnnxNode& node = lowering.node();
  if (node.outputs.empty() || node.outputs.size() > 1) return false;
  if (node.op == "Shape" || node.op == "Size") return FoldSizes(lowering);
  if (node.inputs.empty()) return false;
  std::vector<std::optional<Known>> operands;
  for (const std::string& name : node.inputs) {
    operands.push_back(name.empty() ? std::nullopt : lowering.values().Find(name));
    if (!name.empty() && !operands.back()) return false;
  }
  if (!operands[0]) return false;
  std::optional<Known> result = Folding(lowering, std::move(operands)).Run();
  if (!result || static_cast<int64_t>(result->numbers.size()) > kMostKnown) return false;
  lowering.values().Bind(node.outputs[0], *std::move(result));
  return true;
}

}  // namespace partita::onnx
