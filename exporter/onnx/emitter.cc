#include "exporter/onnx/emitter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita::onnx_export {
namespace {

template <typename T>
std::string BytesOfNumber(T number) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

std::string BytesOfNumber(double number, DType type) {
  switch (type) {
    case DType::kF64:
      return BytesOfNumber(number);
    case DType::kI32:
      return BytesOfNumber(static_cast<int32_t>(number));
    case DType::kU8:
      return BytesOfNumber(static_cast<uint8_t>(number));
    default:
      return BytesOfNumber(static_cast<float>(number));
  }
}

// Elements of that size, in the order of these dimensions of the shape.
std::string Permuted(const std::string& bytes, const Shape& shape, const IntList& order, size_t element) {
  std::vector<size_t> strides(shape.size(), element);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * static_cast<size_t>(shape[d]);
  std::vector<size_t> sizes, steps;
  for (const int64_t d : order) {
    sizes.push_back(static_cast<size_t>(shape[d]));
    steps.push_back(strides[d]);
  }
  std::string permuted;
  permuted.reserve(bytes.size());
  std::vector<size_t> at(sizes.size(), 0);
  size_t place = 0;
  while (permuted.size() < bytes.size()) {
    permuted.append(bytes, place, element);
    for (size_t d = sizes.size(); d-- > 0;) {
      place += steps[d];
      if (++at[d] < sizes[d]) break;
      place -= steps[d] * sizes[d];
      at[d] = 0;
    }
  }
  return permuted;
}

IntList Identity(size_t rank) {
  IntList order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
  return order;
}

IntList ListOf(const int (&order)[4]) { return {order[0], order[1], order[2], order[3]}; }

bool IsStored(const Node& node) { return node.op->is_state() || node.op->role == Role::kConstant; }

ElementType TypeOf(DType type) {
  const absl::StatusOr<ElementType> element = ElementTypeOf(type);
  CHECK(element.ok());  // ExportOnnx has refused others
  return *element;
}

}  // namespace

absl::StatusOr<ElementType> ElementTypeOf(DType type) {
  switch (type) {
    case DType::kF32:
      return kFloat;
    case DType::kF64:
      return kDouble;
    case DType::kI32:
      return kInt32;
    case DType::kU8:
      return kUint8;
    case DType::kBF16:
      break;
  }
  return InvalidArgument("its type is {}; expected f32, f64, i32 or u8", partita::Name(type));
}

Emitter::Emitter(const Graph& graph, const Graph* other, const ReadState& read)
    : graph_(graph),
      other_(other),
      read_(read),
      orders_(ImageOrders(graph)),
      forms_(graph.values().size()),
      readers_(graph.values().size()) {
  for (const partita::Value& value : graph.values()) names_.insert(value.name);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input != kNoValue) readers_[input].push_back(id);
    }
  }
  for (const ValueId result : ResultsOf(graph)) results_.insert(result);
  for (const EntryInput& input : InputsOf(graph)) {
    if (Varies(input.values[0], 0)) batch_ = shape(input.values[0])[0];
  }
}

bool Emitter::Varies(ValueId value, size_t dimension) const {
  if (other_ == nullptr) return false;
  const ValueId same = other_->Find(graph_.value(value).name);
  return same != kNoValue && other_->type(same).shape[dimension] != shape(value)[dimension];
}

std::string Emitter::Get(ValueId value, Order order) {
  if (shape(value).size() != 4) order = Order::kGraph;
  std::map<Order, std::string>& forms = forms_[value];
  if (const auto found = forms.find(order); found != forms.end()) return found->second;
  const bool first = order == Order::kChannelsFirst;
  if (IsStored(graph_.node(graph_.value(value).producer))) {
    return forms[order] = AddStored(value, first ? ListOf(kChannelsFirstOrder) : Identity(shape(value).size()));
  }
  CHECK(!forms.empty());
  const std::string name = FreeName(graph_.value(value).name + (first ? "/channels_first" : "/channels_last"));
  model_.nodes.push_back({name,
                          "Transpose",
                          {forms.begin()->second},
                          {name},
                          {{"perm", ListOf(first ? kChannelsFirstOrder : kGraphOrder)}}});
  return forms[order] = name;
}

std::string Emitter::Operand(ValueId value, size_t rank, Order order) {
  const size_t own = shape(value).size();
  if (order == Order::kGraph || rank != 4 || own == 0 || own == 4) return Get(value, order);
  IntList stored;  // [c] is [c,1,1] channels first
  for (const int d : kChannelsFirstOrder) {
    const int64_t of = d - static_cast<int64_t>(4 - own);
    if (of >= 0 || !stored.empty()) stored.push_back(std::max<int64_t>(of, -1));
  }
  if (IsStored(graph_.node(graph_.value(value).producer))) return AddStored(value, stored);
  IntList axes;
  for (size_t d = 0; d < 4 - own; ++d) axes.push_back(static_cast<int64_t>(d));
  const std::string wide = Add("Unsqueeze", {Get(value), Integers(axes)});
  return Add("Transpose", {wide}, {{"perm", ListOf(kChannelsFirstOrder)}});
}

std::string Emitter::Add(const std::string& op, std::vector<std::string> inputs, WrittenAttributes attributes) {
  const std::string name = FreeName(node_name_ + "/" + op);
  model_.nodes.push_back({name, op, std::move(inputs), {name}, std::move(attributes)});
  return name;
}

void Emitter::Give(ValueId value, Order order, const std::string& op, std::vector<std::string> inputs,
                   WrittenAttributes attributes) {
  if (shape(value).size() != 4) order = Order::kGraph;
  const std::string& name = graph_.value(value).name;
  model_.nodes.push_back({name, op, std::move(inputs), {name}, std::move(attributes)});
  model_.values.push_back(Described(value, order, name));
  Bind(value, order, name);
}

void Emitter::BindTo(ValueId value, ValueId other) {
  if (IsStored(graph_.node(graph_.value(other).producer))) {
    (void)Get(other, OrderOf(other));
  }
  forms_[value] = forms_[other];
}

std::string Emitter::Integers(const IntList& numbers) {
  return Tensor(fmt::format("integers {}", fmt::join(numbers, ",")), kInt64, {static_cast<int64_t>(numbers.size())},
                [numbers] {
                  std::string bytes;
                  for (const int64_t number : numbers) bytes += BytesOfNumber(number);
                  return bytes;
                });
}

std::string Emitter::Number(double number, DType type) {
  return Tensor(fmt::format("{} {}", partita::Name(type), std::bit_cast<uint64_t>(number)), TypeOf(type), {},
                [number, type] { return BytesOfNumber(number, type); });
}

std::string Emitter::Tensor(const std::string& what, ElementType type, IntList dims,
                            std::function<std::string()> elements) {
  std::string& name = constants_[what];
  if (!name.empty()) return name;
  name = FreeName(fmt::format("constant_{}", constants_.size()));
  model_.initializers.push_back(
      {name, type, std::move(dims),
       [elements = std::move(elements)]() -> absl::StatusOr<std::string> { return elements(); }});
  return name;
}

const Node* Emitter::OnlyReader(ValueId value) const {
  if (readers_[value].size() != 1 || results_.contains(value)) return nullptr;
  return &graph_.node(readers_[value][0]);
}

void Emitter::DeclareInput(ValueId value, const std::string& name) {
  const Order order = OrderOf(value);
  const std::string given = name == graph_.value(value).name ? name : FreeName(name);
  model_.inputs.push_back(Described(value, order, given));
  Bind(value, order, given);
}

void Emitter::DeclareOutput(ValueId value) {
  if (forms_[value].empty()) (void)Get(value, OrderOf(value));  // a state
  const std::string& name = graph_.value(value).name;
  const auto own = std::ranges::find(forms_[value], name, &std::pair<const Order, std::string>::second);
  const Node& node = graph_.node(graph_.value(value).producer);
  if (own != forms_[value].end() && !IsStored(node) && node.op->role != Role::kInput) {
    model_.outputs.push_back(Described(value, own->first, name));
    std::erase_if(model_.values, [&](const WrittenValue& each) { return each.name == name; });
    return;
  }
  const auto [order, made] = *forms_[value].begin();
  const std::string output = own == forms_[value].end() ? name : FreeName(name + "/output");
  model_.nodes.push_back({output, "Identity", {made}, {output}, {}});
  model_.outputs.push_back(Described(value, order, output));
}

WrittenModel Emitter::Finish() && { return std::move(model_); }

std::string Emitter::AddStored(ValueId value, const IntList& order) {
  std::string& name = stored_[{value, order}];
  if (!name.empty()) return name;
  const Node& node = graph_.node(graph_.value(value).producer);
  const std::string& own = graph_.value(value).name;
  const bool is_first = std::ranges::none_of(
      stored_, [&](const auto& each) { return each.first.first == value && each.first.second != order; });
  name = is_first ? own : FreeName(own + "/reordered");
  IntList dims;
  for (const int64_t d : order) dims.push_back(d < 0 ? 1 : shape(value)[d]);
  const TensorType type = graph_.type(value);
  std::function<absl::StatusOr<std::string>()> elements;
  if (node.op->is_state()) {
    elements = [read = read_, own, type] { return read(own, type); };
  } else {
    elements = [number = node.attributes.Float("value"), type]() -> absl::StatusOr<std::string> {
      std::string bytes;
      const std::string one = BytesOfNumber(number, type.dtype);
      for (int64_t i = 0; i < Elements(type.shape); ++i) bytes += one;
      return bytes;
    };
  }
  IntList moved = order;
  moved.resize(static_cast<size_t>(std::remove(moved.begin(), moved.end(), -1) - moved.begin()));
  if (!std::ranges::is_sorted(moved)) {
    elements = [elements, type, moved]() -> absl::StatusOr<std::string> {
      ASSIGN_OR_RETURN(const std::string bytes, elements());
      return Permuted(bytes, type.shape, moved, static_cast<size_t>(SizeOf(type.dtype)));
    };
  }
  model_.initializers.push_back({name, TypeOf(type.dtype), std::move(dims), std::move(elements)});
  return name;
}

std::string Emitter::FreeName(const std::string& name) {
  std::string free = name;
  for (int i = 2; !names_.insert(free).second; ++i) free = fmt::format("{}_{}", name, i);
  return free;
}

WrittenValue Emitter::Described(ValueId value, Order order, const std::string& name) const {
  WrittenValue described{name, TypeOf(dtype(value)), {}};
  for (size_t d = 0; d < shape(value).size(); ++d) {
    const bool first = order == Order::kChannelsFirst && shape(value).size() == 4;
    const size_t of = first ? static_cast<size_t>(kChannelsFirstOrder[d]) : d;
    const bool varies = Varies(value, of);  // it may be a multiple of the batch, for which there is no name
    described.dimensions.push_back(
        {varies ? 0 : shape(value)[of], varies && shape(value)[of] == batch_ ? "batch" : ""});
  }
  return described;
}

}  // namespace partita::onnx_export
