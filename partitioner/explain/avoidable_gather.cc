#include "partitioner/explain/avoidable_gather.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/derive/partition.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/group_key.h"
#include "graph/passes/prepare_training.h"
#include "partitioner/explain/step_moves.h"
#include "partitioner/tables/choice.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kLeastBytes = 1 << 20;
constexpr double kLeastShare = 0.1;
constexpr size_t kMostGathers = 3, kMostReaders = 2;  // that are looked at, and that a reader is asked to change

// "block12/gelu" -> "block*/gelu"
std::string PatternOf(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) pattern += c;
    if (digit && !pattern.ends_with('*')) pattern += '*';
  }
  return pattern;
}

// Gathers of alike values along one axis.
struct Gathers {
  std::string value;  // the first of them, as the user names it
  int axis = 0;
  int dimension = 0;  // along which it is split before
  int64_t bytes = 0;
  int64_t first_bytes = 0;  // of that one alone
};

int64_t WireBytesOf(const std::vector<StepMove>& moves) {
  int64_t bytes = 0;
  for (const StepMove& move : moves) bytes += move.bytes.wire;
  return bytes;
}

class Finder {
 public:
  Finder(const Graph& training, const Strategy& strategy, const Program& program)
      : training_(training), strategy_(strategy), index_(strategy), program_(program) {}

  // The largest first.
  std::vector<Gathers> LargeGathers() const {
    const std::vector<StepMove> moves = MovesOf(program_);
    const Graph& graph = program_.graph(kTrainEntry);
    std::map<std::pair<std::string, int>, Gathers> alike;
    for (const StepMove& move : moves) {
      const Node& node = graph.node(move.node);
      if (node.op->move != MoveKind::kAllGather || node.phase != Phase::kForward) continue;
      const Layout& layout = graph.layout(node.inputs[0]);
      const std::vector<int> axes = MoveAxes(graph, node);
      if (layout.mesh != 0 || axes.size() != 1 || layout[axes[0]].windows) continue;
      const std::string name = UserNameOf(graph.value(node.inputs[0]).name);
      const Gathers first{name, axes[0], layout[axes[0]].dimension};
      Gathers& gathers = alike.try_emplace({PatternOf(name), axes[0]}, first).first->second;
      gathers.bytes += move.bytes.wire;
      if (gathers.value == name) gathers.first_bytes += move.bytes.wire;
    }
    std::vector<Gathers> large;
    const auto least =
        std::max(kLeastBytes, static_cast<int64_t>(kLeastShare * static_cast<double>(WireBytesOf(moves))));
    for (const auto& [key, gathers] : alike) {
      if (gathers.bytes >= least) large.push_back(gathers);
    }
    std::ranges::stable_sort(large, std::ranges::greater(), &Gathers::bytes);
    if (large.size() > kMostGathers) large.resize(kMostGathers);
    return large;
  }

  // By what its readers read it in parts, each as the value is split; else nullopt.
  std::optional<AvoidableGather> Avoided(const Gathers& gathers, bool alike) const {
    const auto name_of = [alike](const std::string& name) { return alike ? PatternOf(name) : name; };
    AvoidableGather avoided{name_of(gathers.value), {}, {}, alike ? gathers.bytes : gathers.first_bytes, 0};
    const ValueId value = training_.Find(gathers.value);
    if (value == kNoValue) return std::nullopt;
    for (NodeId id = 0; id < static_cast<NodeId>(training_.nodes().size()); ++id) {
      const std::vector<ValueId>& inputs = training_.node(id).inputs;
      const auto input = static_cast<size_t>(std::ranges::find(inputs, value) - inputs.begin());
      if (input == inputs.size()) continue;
      const std::vector<Rule> splits = SplitsOf(training_, training_.node(id));
      const Rule* const split = Reading(splits, input, gathers.dimension);
      if (split != nullptr && TakesParts(id, splits, input, *split, gathers.axis)) continue;
      if (split == nullptr) return std::nullopt;
      const std::string reader = name_of(UserNameOf(training_.name(id)));
      if (std::ranges::find(avoided.readers, reader) != avoided.readers.end()) continue;
      avoided.readers.push_back(reader);
      const std::string& axis = strategy_.mesh.axes[gathers.axis].name;
      avoided.entries.push_back({reader, {{axis, AxisConfig{split->name, 0, {}}}}, {}});
    }
    if (avoided.readers.empty() || avoided.readers.size() > kMostReaders) return std::nullopt;
    return avoided;
  }

 private:
  // The split that reads an input in parts along this dimension; else the first one, for which the value changes its
  // split.
  static const Rule* Reading(const std::vector<Rule>& splits, size_t input, int dimension) {
    const Rule* other = nullptr;
    for (const Rule& split : splits) {
      if (split.name == "partial" || input >= split.inputs.size()) continue;
      if (split.inputs[input].kind != AxisLayout::Kind::kSplit) continue;
      if (split.inputs[input].dimension == dimension) return &split;
      if (other == nullptr) other = &split;
    }
    return other;
  }

  // Whether a node reads the value so already: as the strategy says, or as its first activation lies.
  bool TakesParts(NodeId id, const std::vector<Rule>& splits, size_t input, const Rule& split, int axis) const {
    const NodeConfig said = ConfigOf(strategy_, index_, training_.name(id), splits);
    if (said.mesh == 0 && said.axes[axis]) return said.axes[axis]->split == split.name;
    const Node& node = training_.node(id);
    for (size_t i = 0; i < input; ++i) {
      const bool activation =
          node.inputs[i] != kNoValue && !training_.node(training_.value(node.inputs[i]).producer).op->is_state();
      if (activation) return false;
    }
    return said.mesh <= 0;
  }

  const Graph& training_;
  const Strategy& strategy_;
  const StrategyIndex index_;
  const Program& program_;
};

}  // namespace

Strategy AvoidableGather::Applied(const Strategy& strategy) const {
  Strategy changed = strategy;
  changed.ops.insert(changed.ops.begin(), entries.begin(), entries.end());
  return changed;
}

absl::StatusOr<std::optional<AvoidableGather>> FindAvoidableGather(
    const Graph& forward, const Strategy& strategy, const Program& program, const OpRegistry& registry,
    const std::function<absl::StatusOr<Program>(const Strategy&)>& compile) {
  ASSIGN_OR_RETURN(const Graph training, PrepareTraining(forward, registry));
  const Finder finder(training, strategy, program);
  const int64_t bytes = WireBytesOf(MovesOf(program));
  for (const Gathers& gathers : finder.LargeGathers()) {
    for (const bool alike : {true, false}) {
      std::optional<AvoidableGather> avoided = finder.Avoided(gathers, alike);
      if (!avoided || (!alike && avoided->value == PatternOf(avoided->value))) break;
      const absl::StatusOr<Program> changed = compile(avoided->Applied(strategy));
      if (!changed.ok()) continue;
      avoided->saved_bytes = bytes - WireBytesOf(MovesOf(*changed));
      if (avoided->saved_bytes > 0) return avoided;
    }
  }
  return std::optional<AvoidableGather>();
}

}  // namespace partita
