#include "importer/translation/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "graph/read/listed_values.h"
#include "graph/value/dtype.h"
#include "graph/value/node_name.h"
#include "importer/program/node_arguments.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// All floating types are computed in the run's precision.
absl::StatusOr<DType> StoredAs(ScalarType type) {
  switch (type) {
    case ScalarType::kF16:
    case ScalarType::kF32:
    case ScalarType::kF64:
    case ScalarType::kBF16:
      return DType::kF32;
    case ScalarType::kI32:
    case ScalarType::kI64:
      return DType::kI32;
    case ScalarType::kU8:
      return DType::kU8;
    default:
      return InvalidArgument("its element type is {}; expected a floating type, int32, int64 or uint8", Name(type));
  }
}

std::vector<Size> InOrderOf(const std::vector<Size>& sizes, const Order& order) {
  std::vector<Size> ordered;
  for (const int d : order) ordered.push_back(sizes[d]);
  return ordered;
}

Shape Numbers(const std::vector<Size>& sizes) {
  Shape shape;
  for (const Size& size : sizes) shape.push_back(size.value);
  return shape;
}

// The distributions of torch.nn.Linear and Conv2d, Embedding, and norms.
Attributes Begins(Beginning beginning, const Shape& shape) {
  switch (beginning) {
    case Beginning::kOnes:
    case Beginning::kZeros:
      return {{"initializer", std::string("constant")}, {"scale", beginning == Beginning::kOnes ? 1.0 : 0.0}};
    case Beginning::kTable:
      return {{"initializer", std::string("normal")}, {"scale", 1.0}};
    case Beginning::kWeights: {
      const int64_t fan = shape.empty() ? 1 : std::max<int64_t>(1, Elements(shape) / std::max<int64_t>(1, shape[0]));
      return {{"initializer", std::string("uniform")}, {"scale", 1 / std::sqrt(static_cast<double>(fan))}};
    }
  }
  return {};
}

}  // namespace

Translator::Translator(const ExportedProgram& program, const OpRegistry& registry, const std::vector<bool>& needed)
    : program_(program), assembler_(registry), constants_(program, needed) {
  for (const Input& input : program.inputs) {
    inputs_[input.name] = &input;
    const auto meta = program.tensors.find(input.name);
    if (input.kind != InputKind::kUser || meta == program.tensors.end() || meta->second.sizes.empty()) continue;
    if (!batch_symbol_.empty()) continue;
    batch_symbol_ = meta->second.sizes[0].symbol;
    batch_ = meta->second.sizes[0].value;
  }
  constexpr int64_t kMore = 7;
  probed_batch_ = batch_ + kMore;
  if (!batch_symbol_.empty()) probe_.emplace(registry);
  read_.insert(program.outputs.begin(), program.outputs.end());
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (!needed[i]) continue;
    for (const std::string& name : ReadsOf(program.nodes[i])) read_.insert(name);
  }
}

absl::StatusOr<Imported> Translator::Get(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  if (const Constant* const constant = constants_.Find(name); constant != nullptr) {
    return Placed(*constant, InOrder(constant->shape.size()), name);
  }
  const auto input = inputs_.find(name);
  if (input == inputs_.end()) return InvalidArgument("value {} was not translated", Quoted(name));
  if (input->second->kind == InputKind::kUser) {
    ASSIGN_OR_RETURN(Imported added, AddInput(*input->second));
    return values_[name] = std::move(added);
  }
  return GetParameter(name, InOrder(IsKnown(name) ? SizesOf(name).size() : 0), Beginning::kWeights);
}

absl::StatusOr<Imported> Translator::Placed(const Constant& constant, const Order& order, const std::string& name) {
  if (constant.counts_samples != 0) return Counted(constant, order, name);
  const Constant ordered = constant.Permuted(order);
  std::vector<double> values = ordered.values();
  const bool is_float = IsFloat(constant.type) || constant.type == ScalarType::kBool;
  if (constant.type == ScalarType::kF64) {  // the least f64, of masks, is the least f32
    constexpr double kMost = std::numeric_limits<float>::max();
    for (double& value : values) {
      if (std::isfinite(value)) value = std::clamp(value, -kMost, kMost);
    }
  }
  // -infinity, of masks that are added to scores, is the logarithm of 0.
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  std::vector<double> seen(values.size(), 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNever) seen[i] = values[i] = 0;
  }
  ASSIGN_OR_RETURN(std::string node, Values(name, is_float ? DType::kF32 : DType::kI32, ordered.shape, values));
  if (std::ranges::find(seen, 0) != seen.end()) {
    ASSIGN_OR_RETURN(const std::string mask, Values(name + ".seen", DType::kF32, ordered.shape, seen));
    std::string& masked = made_[node + " where " + mask];
    if (masked.empty()) {
      ASSIGN_OR_RETURN(const std::string log, Add(name + ".log", "log", {mask}));
      ASSIGN_OR_RETURN(masked, Add(name + ".masked", "add", {node, log}));
    }
    node = masked;
  }
  Constant copy = constant;  // what is written into the constant afterwards does not change the node
  copy.storage = std::make_shared<std::vector<double>>(*constant.storage);
  constant_nodes_.emplace(node, std::move(copy));
  return Imported{std::move(node), order};
}

absl::StatusOr<Imported> Translator::Counted(const Constant& constant, const Order& order, const std::string& name) {
  const auto varying = std::ranges::count(constant.varies, true);
  if (varying != 1 || Elements(constant.shape) != 1 || SizesOf(name).size() != order.size()) {
    return InvalidArgument("it computes with the numbers of samples, which an export without dynamic_shapes knows");
  }
  const auto dimension = static_cast<int>(std::ranges::find(constant.varies, true) - constant.varies.begin());
  const auto at = static_cast<size_t>(std::ranges::find(order, dimension) - order.begin());
  ASSIGN_OR_RETURN(std::string node,
                   NumbersAlong(SizeOf(name, static_cast<size_t>(dimension)), order.size(), at, name));
  if (constant.counts_samples != 1) {
    const Attributes factor = {{"factor", static_cast<double>(constant.counts_samples)}};
    ASSIGN_OR_RETURN(node, Add(name + ".steps", "scale", {node}, factor));
  }
  if (!IsFloat(constant.type)) {
    ASSIGN_OR_RETURN(node, Add(name, "cast", {node}, {{"dtype", std::string(partita::Name(DType::kI32))}}));
  }
  return Imported{std::move(node), order};
}

absl::StatusOr<std::string> Translator::Values(const std::string& name, DType type, const Shape& shape,
                                               const std::vector<double>& values) {
  const auto infinite = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (infinite != values.end()) {
    return InvalidArgument("a constant has the element {}; it must be finite", *infinite);
  }
  std::string text = ListedValues(values);
  Attributes attributes = {{"dtype", std::string(partita::Name(type))}, {"shape", shape}};
  const std::string key = fmt::format("{} {} {}", partita::Name(type), ToString(shape), text);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  if (std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end() && !values.empty()) {
    attributes.Set("value", values[0]);
    ASSIGN_OR_RETURN(std::string node, Add(name, "constant", {}, std::move(attributes)));
    return made_[key] = std::move(node);
  }
  attributes.Set("initializer", std::string("values"));
  attributes.Set("values", std::move(text));
  ASSIGN_OR_RETURN(std::string node, Add(name, "state", {}, std::move(attributes)));
  states_.push_back({node, InOrder(shape.size()), values});
  return made_[key] = std::move(node);
}

absl::StatusOr<Imported> Translator::GetParameter(const std::string& name, const Order& order, Beginning beginning) {
  const auto input = inputs_.find(name);
  const bool stored = input != inputs_.end() && input->second->kind != InputKind::kUser;
  if (values_.contains(name) || !stored) {  // computed, or read before
    ASSIGN_OR_RETURN(const Imported value, Get(name));
    return In(value, order, name);
  }
  if (!IsKnown(name)) return InvalidArgument("parameter {} has no sizes", Quoted(name));
  if (!program_.weights.contains(input->second->target)) {
    return InvalidArgument("parameter {} is not among the weights of the file", Quoted(input->second->target));
  }
  const Shape shape = MetaOf(name).shape();
  const bool trained = input->second->kind == InputKind::kParameter && MetaOf(name).requires_grad;
  ASSIGN_OR_RETURN(Imported added,
                   AddState(*input->second, trained ? "parameter" : "state", order, Begins(beginning, shape)));
  return values_[name] = std::move(added);
}

absl::StatusOr<Imported> Translator::GetState(const std::string& name, double begin) {
  const auto input = inputs_.find(name);
  if (input == inputs_.end() || input->second->kind != InputKind::kBuffer || !IsKnown(name)) {
    return InvalidArgument("{} is no buffer of the module", Quoted(name));
  }
  if (values_.contains(name)) return values_[name];
  ASSIGN_OR_RETURN(Imported added, AddState(*input->second, "state", InOrder(SizesOf(name).size()),
                                            {{"initializer", std::string("constant")}, {"scale", begin}}));
  return values_[name] = std::move(added);
}

absl::StatusOr<Imported> Translator::AddState(const Input& input, const std::string& op, const Order& order,
                                              Attributes attributes) {
  const TensorMeta& meta = MetaOf(input.name);
  ASSIGN_OR_RETURN(const DType type, StoredAs(meta.type));
  if (order.size() != meta.sizes.size()) {
    return InvalidArgument("parameter {} has {} dimensions; expected {}", Quoted(input.target), meta.sizes.size(),
                           order.size());
  }
  attributes.Set("dtype", std::string(partita::Name(type)));
  // A parameter has at least one dimension.
  const bool scalar = order.empty() && op == "parameter";
  attributes.Set("shape", scalar ? Shape{1} : Numbers(InOrderOf(meta.sizes, order)));
  ASSIGN_OR_RETURN(std::string node, Add(input.target, op, {}, std::move(attributes)));
  if (node != input.target) return InvalidArgument("parameter {} is there twice", Quoted(input.target));
  states_.push_back({node, order, {}});
  if (scalar) {
    ASSIGN_OR_RETURN(node, Add(input.target + ".scalar", "reshape", {node}, {{"shape", Shape{}}}));
  }
  return Imported{std::move(node), order};
}

absl::StatusOr<Imported> Translator::AddInput(const Input& input) {
  if (!IsKnown(input.name)) return InvalidArgument("input {} has no sizes", Quoted(input.name));
  const TensorMeta& meta = MetaOf(input.name);
  ASSIGN_OR_RETURN(const DType type, StoredAs(meta.type));
  if (meta.sizes.empty()) return InvalidArgument("input {} is a scalar; expected a batch", Quoted(input.name));
  const Order order =
      images_.contains(input.name) && meta.sizes.size() == 4 ? kChannelsLast : InOrder(meta.sizes.size());
  ASSIGN_OR_RETURN(std::string node, Add(input.name, "input", {},
                                         {{"dtype", std::string(partita::Name(type))},
                                          {"shape", Numbers(InOrderOf(meta.sizes, order))},
                                          {"field", input.name}}));
  return Imported{std::move(node), order};
}

absl::StatusOr<std::string> Translator::Add(const std::string& name, const std::string& op,
                                            const std::vector<std::string>& inputs, Attributes attributes) {
  std::string unique = name;
  for (int i = 2; assembler_.graph().Find(unique) != kNoValue; ++i) unique = fmt::format("{}.{}", name, i);
  const NodeDescription node{unique, op, inputs, std::move(attributes)};
  RETURN_IF_ERROR(assembler_.Add(node).status());
  if (probe_) Probe(node);
  return unique;
}

void Translator::Probe(const NodeDescription& node) {
  NodeDescription probed = node;
  if (probed.attributes.Has("values")) {
    probed.attributes.Set("initializer", std::string("constant"));
    probed.attributes.Remove("values");
  }
  if (const auto input = inputs_.find(node.name); node.op == "input" && input != inputs_.end()) {
    Shape shape = node.attributes.Ints("shape");
    if (const std::optional<double> each = PerSample(SizeOf(node.name, 0)); each) {
      shape[0] = static_cast<int64_t>(*each) * probed_batch_;
    }
    probed.attributes.Set("shape", std::move(shape));
  }
  if (!probe_->Add(probed).ok()) probe_.reset();
}

bool Translator::Varies(const std::string& node, size_t dimension) const {
  if (!probe_) return false;
  const Graph& graph = probe_->graph();
  return graph.type(graph.Find(node)).shape[dimension] != ShapeOf(node)[dimension];
}

absl::Status Translator::CheckSizes(const std::string& name) const {
  const auto found = values_.find(name);
  if (!probe_ || !IsKnown(name) || found == values_.end()) return absl::OkStatus();
  const Imported& value = found->second;
  const Shape shape = ShapeOf(value.node), probed = probe_->graph().type(probe_->graph().Find(value.node)).shape;
  for (size_t j = 0; j < value.order.size() && j < shape.size(); ++j) {
    const Size& size = SizeOf(name, static_cast<size_t>(value.order[j]));
    if (shape[j] != size.value) continue;  // one element that stands for all
    const std::optional<double> each = size.symbol.empty() ? std::nullopt : PerSample(size);
    const int64_t expected = each ? static_cast<int64_t>(*each) * probed_batch_ : size.value;
    // Of a size that is none of those it is enough that it varies; so many samples at most need not.
    const bool unknown = !size.symbol.empty() && !each;
    const bool fits = unknown ? probed[j] != shape[j] || size.symbol.starts_with("Min(") : probed[j] == expected;
    if (fits) continue;
    return InvalidArgument(
        "its dimension {} has the size {} of the example's batch, and would have {} in a batch of {}; an export "
        "without "
        "dynamic_shapes is read",
        value.order[j], shape[j], probed[j], probed_batch_);
  }
  return absl::OkStatus();
}

Shape Translator::ShapeOf(const std::string& node) const {
  return assembler_.graph().type(assembler_.graph().Find(node)).shape;
}

const std::string& Translator::OpAt(const std::string& node) const {
  const Graph& graph = assembler_.graph();
  return graph.node(graph.value(graph.Find(node)).producer).op->name;
}

bool Translator::ReadsInputs(const std::string& node) const {
  const Graph& graph = assembler_.graph();
  std::set<NodeId> seen;
  std::vector<ValueId> open = {graph.Find(node)};
  while (!open.empty()) {
    const NodeId id = graph.value(open.back()).producer;
    open.pop_back();
    if (!seen.insert(id).second) continue;
    if (graph.node(id).op->role == Role::kInput) return true;
    std::ranges::copy_if(graph.node(id).inputs, std::back_inserter(open), [](ValueId v) { return v != kNoValue; });
  }
  return false;
}

DType Translator::TypeOf(const std::string& node) const {
  return assembler_.graph().type(assembler_.graph().Find(node)).dtype;
}

absl::StatusOr<std::string> Translator::Reshape(const std::string& node, const std::vector<Size>& sizes,
                                                const std::string& name) {
  Shape shape = Numbers(sizes);
  if (shape == ShapeOf(node)) return node;
  int varying = 0;
  for (const Size& size : sizes) varying += size.symbol.empty() ? 0 : 1;
  if (varying > 1) {
    ASSIGN_OR_RETURN(std::string made, WithOtherOnes(node, shape, name));
    if (!made.empty()) return made;
  }
  for (size_t d = 0; varying == 1 && d < sizes.size(); ++d) {
    if (!sizes[d].symbol.empty()) shape[d] = -1;
  }
  return Add(name, "reshape", {node}, {{"shape", shape}});
}

absl::StatusOr<std::string> Translator::WithOtherOnes(const std::string& node, const Shape& shape,
                                                      const std::string& name) {
  const Shape own = ShapeOf(node);
  IntList dropped, added;
  Shape before, after;
  for (size_t d = 0; d < own.size(); ++d) {
    if (own[d] == 1) dropped.push_back(static_cast<int64_t>(d));
    if (own[d] != 1) before.push_back(own[d]);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) added.push_back(static_cast<int64_t>(d));
    if (shape[d] != 1) after.push_back(shape[d]);
  }
  if (before != after || before.empty() || !IsFloating(TypeOf(node))) return std::string();
  std::string made = node;
  if (!dropped.empty()) {
    ASSIGN_OR_RETURN(made, Add(name + ".dropped", "sum", {made}, {{"axes", dropped}}));
  }
  if (!added.empty()) {
    const IntList ones(added.size(), 1);
    ASSIGN_OR_RETURN(made, Add(name + ".added", "expand", {made}, {{"axes", added}, {"sizes", ones}}));
  }
  return made;
}

absl::StatusOr<Imported> Translator::In(const Imported& value, const Order& order, const std::string& name) {
  if (value.order == order) return value;
  if (value.rank() != order.size()) {
    return InvalidArgument("it has {} dimensions; expected {}", value.rank(), order.size());
  }
  if (const auto constant = constant_nodes_.find(value.node);
      constant != constant_nodes_.end() && value.order == InOrder(value.rank())) {
    return Placed(constant->second, order, name + ".constant");
  }
  const Shape shape = ShapeOf(value.node);
  IntList permutation;
  Shape moved;
  for (const int d : order) {
    const auto at = std::ranges::find(value.order, d) - value.order.begin();
    permutation.push_back(at);
    moved.push_back(shape[at]);
  }
  IntList kept;  // without dimensions of size 1, which may change places
  for (const int64_t at : permutation) {
    if (shape[at] != 1) kept.push_back(at);
  }
  std::vector<size_t> varying;
  for (size_t j = 0; j < moved.size(); ++j) {
    if (Varies(value.node, static_cast<size_t>(permutation[j]))) varying.push_back(j);
  }
  if (std::ranges::is_sorted(kept) && varying.size() <= 1) {
    // A reshape may leave one size open, that of the batch.
    if (!varying.empty()) {
      moved[varying[0]] = -1;
    } else if (permutation[0] == 0) {
      moved[0] = -1;
    }
    ASSIGN_OR_RETURN(std::string node, Add(name + ".order", "reshape", {value.node}, {{"shape", moved}}));
    return Imported{std::move(node), order};
  }
  if (order.size() > 4) return Exchanged(value, order, moved, name);
  ASSIGN_OR_RETURN(std::string node, Add(name + ".order", "transpose", {value.node}, {{"permutation", permutation}}));
  return Imported{std::move(node), order};
}

// A transposition of more than 4 dimensions, one exchange of two neighbouring blocks after the other: each is one of 4.
absl::StatusOr<Imported> Translator::Exchanged(const Imported& value, const Order& order, const Shape& moved,
                                               const std::string& name) {
  std::string node = value.node;
  Order place = value.order;  // the order so far
  Shape shape = ShapeOf(node);
  const auto size_of = [&shape](size_t begin, size_t end) {
    int64_t size = 1;
    for (size_t d = begin; d < end; ++d) size *= shape[d];
    return size;
  };
  for (size_t k = 0; k < order.size(); ++k) {
    const auto from = static_cast<size_t>(std::ranges::find(place, order[k]) - place.begin());
    if (from == k) continue;
    size_t to = from + 1;  // of the block that comes next, as long as its dimensions stay together
    while (to < place.size() && place[to] == order[k + (to - from)]) ++to;
    // What stands before is the batch or begins with it: a reshape may leave that open.
    const IntList blocks = {k == 0 ? 1 : -1, size_of(k, from), size_of(from, to), size_of(to, shape.size())};
    ASSIGN_OR_RETURN(node, Add(name + ".blocks", "reshape", {node}, {{"shape", blocks}}));
    ASSIGN_OR_RETURN(node, Add(name + ".exchanged", "transpose", {node}, {{"permutation", IntList{0, 2, 1, 3}}}));
    std::rotate(place.begin() + static_cast<int64_t>(k), place.begin() + static_cast<int64_t>(from),
                place.begin() + static_cast<int64_t>(to));
    std::rotate(shape.begin() + k, shape.begin() + from, shape.begin() + to);
  }
  Shape split = moved;
  if (value.order[0] == order[0]) split[0] = -1;
  ASSIGN_OR_RETURN(node, Add(name + ".order", "reshape", {node}, {{"shape", split}}));
  return Imported{std::move(node), order};
}

void Translator::Bind(const std::string& name, Imported value) { values_[name] = std::move(value); }

std::optional<double> Translator::MultipleOf(const Size& size) const {
  if (batch_symbol_.empty()) return std::nullopt;
  if (size.symbol == batch_symbol_) return 1;
  // "Mul(Integer(6), Symbol('s17', positive=True, integer=True))"
  int64_t factor = 0;
  const std::string begin = "Mul(Integer(", end = "), " + batch_symbol_ + ")";
  if (!size.symbol.starts_with(begin) || !size.symbol.ends_with(end)) return std::nullopt;
  const std::string digits = size.symbol.substr(begin.size(), size.symbol.size() - begin.size() - end.size());
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), factor);
  if (error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  return static_cast<double>(factor);
}

Size Translator::OfSamples(int64_t each) const {
  return {each * batch_, each == 1 ? batch_symbol_ : fmt::format("Mul(Integer({}), {})", each, batch_symbol_)};
}

std::optional<Translator::BatchNumber> Translator::NumberOfBatch(const Size& number) const {
  if (const std::optional<double> each = MultipleOf(number)) return BatchNumber{*each, 0};
  // "Add(Symbol('s17', positive=True, integer=True), Integer(-1))"
  const std::string &symbol = number.symbol, begin = "Add(", middle = ", Integer(", end = "))";
  const size_t comma = symbol.rfind(middle);
  if (!symbol.starts_with(begin) || !symbol.ends_with(end) || comma == std::string::npos) return std::nullopt;
  const std::optional<double> each = MultipleOf({0, symbol.substr(begin.size(), comma - begin.size())});
  const size_t first = comma + middle.size();
  const std::string digits = symbol.substr(first, symbol.size() - end.size() - first);
  int64_t more = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), more);
  if (!each || error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  return BatchNumber{*each, static_cast<double>(more)};
}

absl::StatusOr<std::string> Translator::BatchOfZeros(size_t rank, const std::string& name) {
  std::string node;
  for (const Input& input : program_.inputs) {
    const bool batched = input.kind == InputKind::kUser && IsKnown(input.name) && !SizesOf(input.name).empty() &&
                         SizesOf(input.name)[0].symbol == batch_symbol_;
    if (!batched) continue;
    ASSIGN_OR_RETURN(const Imported value, Get(input.name));
    node = value.node;
    break;
  }
  if (node.empty()) return InvalidArgument("it repeats a value for each sample, and no input has samples");
  const size_t dimensions = ShapeOf(node).size();
  IntList begins(dimensions, 0), sizes(dimensions, 1);
  sizes[0] = -1;
  ASSIGN_OR_RETURN(node, Add(name + ".sample", "slice", {node}, {{"begin", begins}, {"size", sizes}}));
  Shape shape(rank, 1);
  shape[0] = -1;
  ASSIGN_OR_RETURN(node, Add(name + ".column", "reshape", {node}, {{"shape", shape}}));
  ASSIGN_OR_RETURN(node, AsFloats(node, name));
  return Add(name + ".zeros", "scale", {node}, {{"factor", 0.0}});
}

absl::StatusOr<std::string> Translator::AsFloats(const std::string& node, const std::string& name) {
  if (IsFloating(TypeOf(node))) return node;
  return Add(name + ".floats", "cast", {node}, {{"dtype", std::string("f32")}});
}

absl::StatusOr<std::string> Translator::ZerosAlong(const Size& size, size_t rank, size_t dimension,
                                                   const std::string& name) {
  const std::optional<double> each = PerSample(size);
  if (!each) return InvalidArgument("it has {} elements, which is no multiple of the batch", size.symbol);
  if (*each == 1 && dimension == 0) return BatchOfZeros(rank, name);
  ASSIGN_OR_RETURN(std::string node, BatchOfZeros(1, name));
  if (*each > 1) {
    const IntList copies = {static_cast<int64_t>(*each)};
    ASSIGN_OR_RETURN(node, Add(name + ".copies", "expand", {node}, {{"axes", IntList{1}}, {"sizes", copies}}));
  }
  Shape shape(rank, 1);
  shape[dimension] = -1;
  return Add(name + ".zeros", "reshape", {node}, {{"shape", shape}});
}

absl::StatusOr<std::string> Translator::NumbersAlong(const Size& size, size_t rank, size_t dimension,
                                                     const std::string& name) {
  if (size.symbol.empty()) {
    Shape shape(rank, 1);
    shape[dimension] = size.value;
    std::vector<double> numbers(static_cast<size_t>(size.value));
    std::iota(numbers.begin(), numbers.end(), 0);
    return Values(name + ".numbers", DType::kF32, shape, numbers);
  }
  ASSIGN_OR_RETURN(const std::string zeros, ZerosAlong(size, rank, dimension, name));
  return Add(name + ".numbers", "positions", {zeros}, {{"axis", static_cast<int64_t>(dimension)}});
}

absl::StatusOr<Imported> Translator::Whole(const std::string& value, const std::string& name) {
  ASSIGN_OR_RETURN(Imported whole, Get(value));
  if (batch_symbol_.empty() || !IsKnown(value)) return whole;
  const Shape shape = ShapeOf(whole.node);
  const DType type = TypeOf(whole.node);
  bool spread = false;
  for (size_t j = 0; j < whole.order.size(); ++j) {
    const Size& size = SizeOf(value, static_cast<size_t>(whole.order[j]));
    if (size.symbol.empty() || size.value == 1 || shape[j] != 1) continue;
    ASSIGN_OR_RETURN(const std::string zeros, ZerosAlong(size, whole.rank(), j, name));
    ASSIGN_OR_RETURN(whole.node, AsFloats(whole.node, name));
    ASSIGN_OR_RETURN(whole.node, Add(name + ".whole", "add", {whole.node, zeros}));
    spread = true;
  }
  if (spread && !IsFloating(type)) {
    ASSIGN_OR_RETURN(whole.node,
                     Add(name + ".integers", "cast", {whole.node}, {{"dtype", std::string(partita::Name(type))}}));
  }
  return whole;
}

Order WithLast(const Order& order, int dimension) {
  Order ordered = order;
  std::erase(ordered, dimension);
  ordered.push_back(dimension);
  return ordered;
}

}  // namespace partita::torch_export
