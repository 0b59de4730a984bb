#include "importer/onnx/lowering.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/value/node_name.h"

namespace partita::onnx {

using torch_export::TensorMeta;
using torch_export::TensorName;

absl::StatusOr<Value> Lowering::In(size_t i) {
  if (!Has(i)) return InvalidArgument("its input {} is missing", i);
  return values_.Get(node_.inputs[i]);
}

absl::StatusOr<std::vector<Number>> Lowering::Numbers(size_t i) {
  if (!Has(i)) return InvalidArgument("its input {} is missing", i);
  std::optional<Known> known = values_.Elements(node_.inputs[i]);
  if (known) return std::move(known->numbers);
  return InvalidArgument("its input {}, {}, depends on data; expected constant numbers", i, Quoted(node_.inputs[i]));
}

absl::StatusOr<IntList> Lowering::Integers(size_t i) {
  ASSIGN_OR_RETURN(const std::vector<Number> numbers, Numbers(i));
  IntList integers;
  for (const Number& number : numbers) {
    if (number.of_batch) return InvalidArgument("its input {} depends on how many samples there are", i);
    constexpr double kMost = 4e18;  // ends of slices are the largest integers
    integers.push_back(static_cast<int64_t>(std::clamp(number.value, -kMost, kMost)));
  }
  return integers;
}

absl::StatusOr<double> Lowering::Scalar(size_t i) {
  ASSIGN_OR_RETURN(const std::vector<Number> numbers, Numbers(i));
  if (numbers.size() == 1 && !numbers[0].of_batch) return numbers[0].value;
  return InvalidArgument("its input {} has {} elements; expected one number", i, numbers.size());
}

const Attribute* Lowering::Find(const std::string& name) const {
  asked_.insert(name);
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

absl::Status Lowering::CheckAsked() const {
  // They are redundant, or do not change what is computed.
  static const auto& harmless = *new std::set<std::string>{
      "kernel_shape", "spatial",       "storage_order", "stash_type",     "qk_matmul_output_mode",
      "seed",         "training_mode", "hidden_size",   "saturate",       "extrapolation_value",
      "num_outputs",  "is_test",       "cubic_coeff_a", "consumed_inputs"};
  for (const auto& [name, attribute] : node_.attributes) {
    if (asked_.contains(name) || harmless.contains(name)) continue;
    return InvalidArgument("its attribute {} is not read", Quoted(name));
  }
  return absl::OkStatus();
}

int64_t Lowering::Integer(const std::string& name, int64_t otherwise) const {
  const Attribute* const found = Find(name);
  return found == nullptr ? otherwise : found->integer;
}

double Lowering::Float(const std::string& name, double otherwise) const {
  const Attribute* const found = Find(name);
  return found == nullptr ? otherwise : found->number;
}

std::string Lowering::Text(const std::string& name, const std::string& otherwise) const {
  const Attribute* const found = Find(name);
  return found == nullptr ? otherwise : found->text;
}

IntList Lowering::List(const std::string& name) const {
  const Attribute* const found = Find(name);
  return found == nullptr ? IntList() : found->integers;
}

absl::StatusOr<std::vector<size_t>> Lowering::Axes(size_t i, size_t rank) {
  IntList axes = List("axes");
  if (Has(i)) {
    ASSIGN_OR_RETURN(axes, Integers(i));
  }
  std::vector<size_t> counted;
  const auto dimensions = static_cast<int64_t>(rank);
  for (const int64_t axis : axes) {
    if (axis < -dimensions || axis >= dimensions) return InvalidArgument("axis {} of {} dimensions", axis, rank);
    counted.push_back(static_cast<size_t>(axis < 0 ? axis + dimensions : axis));
    if (std::ranges::count(counted, counted.back()) > 1) return InvalidArgument("axis {} is there twice", axis);
  }
  return counted;
}

absl::StatusOr<size_t> Lowering::Axis(const std::string& name, int64_t otherwise, size_t rank) const {
  const int64_t axis = Integer(name, otherwise), dimensions = static_cast<int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions) return InvalidArgument("{} {} of {} dimensions", name, axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + dimensions : axis);
}

Value Lowering::AddNamed(const std::string& name, const std::string& op, Arguments arguments, ScalarType type,
                         Sizes sizes) {
  torch_export::ExportedProgram& program = values_.program();
  torch_export::Node node{"torch.ops.aten." + op + ".default", "", std::move(arguments), {name}};
  program.nodes.push_back(std::move(node));
  TensorMeta meta;
  meta.type = type;
  meta.sizes = sizes;
  program.tensors[name] = std::move(meta);
  return {name, type, std::move(sizes)};
}

Value Lowering::Add(const std::string& op, Arguments arguments, ScalarType type, Sizes sizes) {
  const std::string of = node_.outputs.empty() ? node_.name : node_.outputs[0];
  return AddNamed(values_.FreeName(of + "." + op), op, std::move(arguments), type, std::move(sizes));
}

absl::Status Lowering::Result(const std::string& op, Arguments arguments, ScalarType type, Sizes sizes, size_t output) {
  if (!Gives(output)) return absl::OkStatus();
  const std::string& name = node_.outputs[output];
  values_.Bind(name, AddNamed(values_.FreeName(name), op, std::move(arguments), type, std::move(sizes)));
  return absl::OkStatus();
}

absl::Status Lowering::Pass(const Value& value, size_t output) {
  if (Gives(output)) values_.Bind(node_.outputs[output], value);
  return absl::OkStatus();
}

Value Lowering::Reshaped(const Value& x, const Sizes& sizes) {
  const bool same = x.sizes.size() == sizes.size() && std::ranges::equal(x.sizes, sizes, SameSize);
  if (same) return x;
  return Add("view", {{"self", NameOf(x)}}, x.type, sizes);
}

Value Lowering::Permuted(const Value& x, const std::vector<size_t>& order) {
  Sizes sizes;
  for (const size_t d : order) sizes.push_back(x.sizes[d]);
  return Add("permute", {{"self", NameOf(x)}, {"dims", ListOf(order)}}, x.type, sizes);
}

Value Lowering::Times(const Value& x, double factor) {
  if (factor == 1) return x;
  return Add("mul", {{"self", NameOf(x)}, {"other", factor}}, x.type, x.sizes);
}

Value Lowering::Plus(const Value& x, double number) {
  if (number == 0) return x;
  return Add("add", {{"self", NameOf(x)}, {"other", number}}, x.type, x.sizes);
}

absl::StatusOr<Value> Lowering::Two(const std::string& op, const Value& x, const Value& y) {
  ASSIGN_OR_RETURN(Sizes sizes, Broadcast(x.sizes, y.sizes));
  return Add(op, {{"self", NameOf(x)}, {"other", NameOf(y)}}, x.type, std::move(sizes));
}

bool SameSize(const Size& x, const Size& y) { return x.value == y.value && x.symbol == y.symbol; }

absl::StatusOr<Sizes> Broadcast(const Sizes& x, const Sizes& y) {
  Sizes sizes;
  const size_t rank = std::max(x.size(), y.size());
  for (size_t d = 0; d < rank; ++d) {
    const size_t of_x = d + x.size() - rank, of_y = d + y.size() - rank;  // wraps where there is no such dimension
    const Size a = d + x.size() < rank ? Size{1} : x[of_x], b = d + y.size() < rank ? Size{1} : y[of_y];
    const bool a_is_one = a.value == 1 && a.symbol.empty(), b_is_one = b.value == 1 && b.symbol.empty();
    if (!a_is_one && !b_is_one && !SameSize(a, b)) {
      return InvalidArgument("its operands have {} and {} elements along a dimension{}", a.value, b.value,
                             a.symbol != b.symbol ? ", of which one is the batch" : "");
    }
    sizes.push_back(a_is_one ? b : a);
  }
  return sizes;
}

IntList ShapeOf(const Sizes& sizes) {
  IntList shape;
  for (const Size& size : sizes) shape.push_back(size.value);
  return shape;
}

bool IsFixed(const Sizes& sizes) {
  return std::ranges::all_of(sizes, [](const Size& size) { return size.symbol.empty(); });
}

TensorName NameOf(const Value& value) { return {value.name}; }

torch_export::Integers ListOf(const std::vector<size_t>& numbers) {
  torch_export::Integers list;
  for (const size_t number : numbers) list.sizes.push_back({static_cast<int64_t>(number)});
  return list;
}

torch_export::Integers ListOf(const IntList& numbers) {
  torch_export::Integers list;
  for (const int64_t number : numbers) list.sizes.push_back({number});
  return list;
}

namespace {

const Lowerings& AllLowerings() {
  static const auto& lowerings = *[] {
    auto* const all = new Lowerings;
    AddElementwise(*all);
    AddShapes(*all);
    AddIndices(*all);
    AddLayers(*all);
    AddImages(*all);
    AddNorms(*all);
    AddReductions(*all);
    AddRecurrent(*all);
    return all;
  }();
  return lowerings;
}

}  // namespace

Lower FindLowering(const std::string& op) {
  const auto found = AllLowerings().find(op);
  return found == AllLowerings().end() ? nullptr : found->second;
}

std::vector<std::string> LoweredOps() {
  std::vector<std::string> ops;
  for (const auto& [name, lower] : AllLowerings()) ops.push_back(name);
  return ops;
}

}  // namespace partita::onnx
