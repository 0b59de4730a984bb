#include "runtime/train/graph_fields.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A classifier inside of a loss: (x, weights [classes,h], bias, labels, ...).
constexpr char kSampledLoss[] = "sampled_softmax_cross_entropy";
// Inputs of ops on sequences, and of losses.
constexpr char kLengths[] = "lengths", kSampleWeight[] = "sample_weight";

// The input that labels or ids come from, perhaps by way of ops that move them; kNoValue: they come from none alone.
ValueId SourceOf(const Graph& forward, ValueId labels) {
  const Node* node = &forward.node(forward.value(labels).producer);
  while (node->op->role != Role::kInput) {
    if (node->inputs.size() != 1 || forward.type(node->inputs[0]).dtype != DType::kI32) return kNoValue;
    node = &forward.node(forward.value(node->inputs[0]).producer);
  }
  return node->outputs[0];
}

// The places in a row of the input that such labels are: of a slice those that it takes.
std::vector<int64_t> PlacesInRow(const Graph& forward, ValueId source, ValueId labels) {
  std::vector<const Node*> moves;
  for (ValueId value = labels; value != source; value = moves.back()->inputs[0]) {
    moves.push_back(&forward.node(forward.value(value).producer));
  }
  const auto row_of = [&forward](ValueId value) {
    Shape row = forward.type(value).shape;
    row[0] = 1;
    return row;
  };
  std::vector<int64_t> places(static_cast<size_t>(Elements(row_of(source))));
  std::iota(places.begin(), places.end(), 0);
  const std::vector<int64_t> all = places;
  for (const Node* const move : moves | std::views::reverse) {
    if (move->op->name != "slice") continue;
    const IntList& begins = move->attributes.Ints("begin");
    const Shape from = row_of(move->inputs[0]), to = row_of(move->outputs[0]);
    if (begins[0] != 0 || Elements(from) != static_cast<int64_t>(places.size())) return all;
    std::vector<int64_t> taken;
    for (int64_t i = 0; i < Elements(to); ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (size_t d = to.size(); d-- > 0; stride *= from[d]) {
        at += (begins[d] + rest % to[d]) * stride;
        rest /= to[d];
      }
      taken.push_back(places[static_cast<size_t>(at)]);
    }
    places = std::move(taken);
  }
  return places;
}

// What the values of an input are below, each place of a row, but for one that is ignored, and whether all they do is
// to choose rows of tables.
struct Bound {
  std::vector<int64_t> below;  // 0: nothing is known
  bool ids = false;
  std::optional<int64_t> ignored = {};  // by all ops that read the input
  bool counted = false;                 // one of them divides by the number of the others

  int64_t most() const { return below.empty() ? 0 : std::ranges::max(below); }
  bool differ() const { return std::ranges::adjacent_find(below, std::ranges::not_equal_to()) != below.end(); }
};

std::optional<int64_t> IgnoredLabel(const Attributes& attributes) {
  if (!attributes.Has("ignore_index")) return std::nullopt;
  return attributes.Int("ignore_index");
}

// By input: the classes of the ops that read it as labels, beside values [samples, classes], and the rows of tables.
class Bounds {
 public:
  explicit Bounds(const Graph& forward) : forward_(forward) {
    for (const Node& node : forward.nodes()) {
      if (node.op->role == Role::kEmbedding) Add(node.inputs[1], forward.type(node.inputs[0]).shape[0], {{}, true});
      if (node.op->name == kSampledLoss) Add(node.inputs[3], forward.type(node.inputs[1]).shape[0], {});
      if (node.op->classes < 0) continue;
      const int64_t told_apart = forward.type(node.inputs[static_cast<size_t>(node.op->classes)]).shape.back();
      for (const ValueId input : node.inputs) {
        if (input == kNoValue || forward.type(input).dtype != DType::kI32) continue;
        const std::optional<int64_t> ignored = IgnoredLabel(node.attributes);
        Add(input, told_apart, {{}, false, ignored, ignored && node.attributes.String("reduction") == "mean"});
      }
    }
  }

  // 0: none is known.
  Bound Of(ValueId input) const {
    const auto found = bounds_.find(input);
    return found == bounds_.end() ? Bound() : found->second;
  }

 private:
  void Add(ValueId value, int64_t below, const Bound& bound) {
    const ValueId source = SourceOf(forward_, value);
    if (source == kNoValue) return;
    const auto [found, fresh] = bounds_.emplace(source, bound);
    Bound& all = found->second;
    const Shape& shape = forward_.type(source).shape;
    all.below.resize(static_cast<size_t>(Elements(shape) / std::max<int64_t>(shape[0], 1)), 0);
    for (const int64_t place : PlacesInRow(forward_, source, value)) {
      int64_t& here = all.below[static_cast<size_t>(place)];
      here = here == 0 ? below : std::min(here, below);
    }
    all.ids = all.ids && bound.ids;
    if (all.ignored != bound.ignored) all.ignored.reset();
    all.counted = all.ignored && (all.counted || bound.counted);
  }

  const Graph& forward_;
  std::map<ValueId, Bound> bounds_;
};

// The input of this name; kNoValue: the node has none.
ValueId InputCalled(const Node& node, const char* name) {
  for (size_t i = 0; i < node.op->inputs.size() && i < node.inputs.size(); ++i) {
    if (node.op->inputs[i].name == name) return node.inputs[i];
  }
  return kNoValue;
}

// By input of lengths: the places of the sequences, of several the fewest.
std::map<ValueId, int64_t> PlacesOf(const Graph& forward) {
  std::map<ValueId, int64_t> places;
  for (const Node& node : forward.nodes()) {
    const ValueId lengths = InputCalled(node, kLengths);
    if (lengths == kNoValue) continue;
    const ValueId keys = InputCalled(node, "keys"), sequences = keys == kNoValue ? node.inputs[0] : keys;
    const int64_t of_node = forward.type(sequences).shape[1];
    const auto [found, fresh] = places.emplace(SourceOf(forward, lengths), of_node);
    found->second = std::min(found->second, of_node);
  }
  return places;
}

// The input whose sum a value is, perhaps in another type; kNoValue: it is something else.
ValueId SummedInput(const Graph& forward, ValueId value) {
  const Node* node = &forward.node(forward.value(value).producer);
  while (node->op->name == "sum" || node->op->name == "cast") {
    node = &forward.node(forward.value(node->inputs[0]).producer);
  }
  return node->op->role == Role::kInput ? node->outputs[0] : kNoValue;
}

// Inputs by whose sum something is divided.
std::set<ValueId> DivisorsOf(const Graph& forward) {
  std::set<ValueId> divisors;
  for (const Node& node : forward.nodes()) {
    if (node.op->name == "over") divisors.insert(SummedInput(forward, node.inputs[1]));
  }
  return divisors;
}

// What losses are weighed by, and all that it is made from.
std::set<ValueId> WeightsOf(const Graph& forward) {
  std::set<ValueId> weights;
  std::vector<ValueId> next;
  for (const Node& node : forward.nodes()) next.push_back(InputCalled(node, kSampleWeight));
  while (!next.empty()) {
    const ValueId value = next.back();
    next.pop_back();
    if (value == kNoValue || !weights.insert(value).second) continue;
    const Node& producer = forward.node(forward.value(value).producer);
    next.insert(next.end(), producer.inputs.begin(), producer.inputs.end());
  }
  return weights;
}

}  // namespace

std::vector<WantedField> WantedFields(const Graph& forward, DType floating) {
  const Bounds bounds(forward);
  const std::map<ValueId, int64_t> places = PlacesOf(forward);
  const std::set<ValueId> weights = WeightsOf(forward), divisors = DivisorsOf(forward);
  std::vector<WantedField> wanted;
  for (const EntryInput& input : InputsOf(forward)) {
    const TensorType& type = forward.type(input.values[0]);
    const Bound bound = bounds.Of(input.values[0]);
    Shape row;
    for (size_t d = 1; d < type.shape.size(); ++d) row.push_back(type.shape[d]);
    const auto lengths = places.find(input.values[0]);
    wanted.push_back({{input.field, IsFloating(type.dtype) ? floating : type.dtype, std::move(row)},
                      bound.most(),
                      true,
                      bound.ids,
                      lengths == places.end() ? 0 : lengths->second,
                      IsFloating(type.dtype) && weights.contains(input.values[0]),
                      bound.counted || (IsFloating(type.dtype) && divisors.contains(input.values[0])),
                      bound.ignored,
                      bound.differ() ? bound.below : std::vector<int64_t>()});
  }
  return wanted;
}

absl::StatusOr<int64_t> BatchRows(const Graph& forward) {
  const std::vector<EntryInput> inputs = InputsOf(forward);
  if (inputs.empty()) return InvalidArgument("the graph has no input, so no data can train it");
  const TensorType& first = forward.type(inputs[0].values[0]);
  for (const EntryInput& input : inputs) {
    const TensorType& type = forward.type(input.values[0]);
    if (type.shape[0] == first.shape[0]) continue;
    return InvalidArgument(
        "input {} is {}{}, input {} is {}{}; the first size of all is the batch, so it must be equal",
        Quoted(input.field), Name(type.dtype), ToString(type.shape), Quoted(inputs[0].field), Name(first.dtype),
        ToString(first.shape));
  }
  return first.shape[0];
}

}  // namespace partita
