#include "partitioner/explain/plan_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "partitioner/explain/critical_path.h"
#include "partitioner/explain/step_shares.h"
#include "runtime/base/number.h"

namespace partita {
namespace {

// The user's name of a node of the forward pass; of micro-batches the first one speaks for all. nullopt: what the
// compiler added.
std::optional<std::string> UserName(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op->move || node.phase != Phase::kForward || node.micro_batch > 0) return std::nullopt;
  const std::string& name = graph.name(id);
  std::string user = UserNameOf(name);
  const bool itself = name == user || (node.micro_batch == 0 && name == MicroBatchName(user, 0));
  if (!itself || user.empty()) return std::nullopt;
  return user;
}

std::map<std::string, std::string> SplitsOf(const Graph& graph) {
  std::map<std::string, std::string> splits;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const ValueId value = graph.node(id).outputs[0];
    if (auto name = UserName(graph, id))
      splits.emplace(*std::move(name), SplitOf(graph.layout(value), graph.mesh(value)));
  }
  return splits;
}

void CompareSplits(const Graph& a, const Graph& b, PlanDifference& difference) {
  const std::map<std::string, std::string> of_a = SplitsOf(a), of_b = SplitsOf(b);
  std::set<std::string> seen;
  for (NodeId id = 0; id < static_cast<NodeId>(a.nodes().size()); ++id) {
    const std::optional<std::string> name = UserName(a, id);
    if (!name || !of_b.contains(*name) || !seen.insert(*name).second) continue;
    ++difference.nodes;
    if (of_a.at(*name) != of_b.at(*name)) difference.splits.push_back({*name, of_a.at(*name), of_b.at(*name)});
  }
}

std::vector<StepMove> MovesMissingIn(const std::vector<StepMove>& moves, const std::vector<StepMove>& others) {
  std::set<std::pair<std::string, std::string>> known;
  for (const StepMove& other : others) known.emplace(other.op, other.name);
  std::vector<StepMove> missing;
  for (const StepMove& move : moves) {
    if (!known.contains({move.op, move.name})) missing.push_back(move);
  }
  return missing;
}

// Numbers of both, by name, in the order of `first` and then of what only b has.
std::vector<NumberDifference> Compare(const std::vector<std::pair<std::string, int64_t>>& a,
                                      const std::vector<std::pair<std::string, int64_t>>& b) {
  std::vector<NumberDifference> numbers;
  const auto of = [&](const std::string& name) -> NumberDifference& {
    const auto found = std::ranges::find(numbers, name, &NumberDifference::name);
    return found != numbers.end() ? *found : numbers.emplace_back(NumberDifference{name, 0, 0});
  };
  for (const auto& [name, number] : a) of(name).a += number;
  for (const auto& [name, number] : b) of(name).b += number;
  return numbers;
}

std::vector<std::pair<std::string, int64_t>> WireBytesOf(const Program& program) {
  const std::vector<MoveBytes> bytes = PredictBytes(program, program.graph(kTrainEntry));
  std::vector<std::pair<std::string, int64_t>> by_group;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    const CommunicationGroup& group = program.groups[g];
    by_group.emplace_back(
        fmt::format("{} ({})", AlongOf(group.key, program.meshes), Counted(group.ranks.size(), "rank")), bytes[g].wire);
  }
  return by_group;
}

std::vector<std::pair<std::string, int64_t>> PartsOf(const MemoryUse& memory) {
  return {{"parameters", memory.parameters},   {"states", memory.states},       {"inputs", memory.inputs},
          {"activations", memory.activations}, {"workspace", memory.workspace}, {"arena", memory.total}};
}

std::vector<std::pair<std::string, int64_t>> PathOf(const PredictedPlan& plan) {
  const Arrivals arrivals(plan.program, plan.step);
  std::vector<std::pair<std::string, int64_t>> kinds;
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) kinds.emplace_back(Name(phase), 0);
  for (const PathShare& share : SharesOfPath(CriticalPath(plan.step, arrivals), KindOfWork)) {
    kinds.emplace_back(share.label, share.ns);
  }
  return kinds;
}

int64_t StepOf(const PredictedPlan& plan) { return RangeOf({nullptr, 0, plan.step.seconds()}).end_ns; }

}  // namespace

PlanDifference DifferenceOf(const PredictedPlan& a, const PredictedPlan& b) {
  PlanDifference difference;
  CompareSplits(a.program.graph(kTrainEntry), b.program.graph(kTrainEntry), difference);
  const std::vector<StepMove> moves_a = MovesOf(a.program), moves_b = MovesOf(b.program);
  difference.only_a = MovesMissingIn(moves_a, moves_b);
  difference.only_b = MovesMissingIn(moves_b, moves_a);
  difference.bytes = Compare(WireBytesOf(a.program), WireBytesOf(b.program));
  difference.memory = Compare(PartsOf(a.memory), PartsOf(b.memory));
  difference.step = Compare(PathOf(a), PathOf(b));
  difference.whole = {"step", StepOf(a), StepOf(b)};
  return difference;
}

std::string SplitOf(const Layout& layout, const Mesh& mesh) {
  std::vector<std::string> parts;
  std::map<int, std::pair<int, std::string>> cut;  // by dimension: into how many, and where it is not even
  int summands = 1;
  for (size_t a = 0; a < layout.size(); ++a) {
    const AxisLayout& axis = layout[a];
    const int size = mesh.axes[a].size;
    if (size == 1) continue;
    if (axis.at()) parts.push_back(fmt::format("At{}/{}", axis.coordinate, size));
    if (axis.partial()) summands *= size;
    if (!axis.split()) continue;
    auto& [into, where] = cut.try_emplace(axis.dimension, 1, "").first->second;
    into *= size;
    if (!axis.cuts.empty()) where += fmt::format("[{}]", fmt::join(axis.cuts, ","));
  }
  for (const auto& [dimension, how] : cut) parts.push_back(fmt::format("S{}/{}{}", dimension, how.first, how.second));
  if (summands > 1) parts.push_back(fmt::format("P/{}", summands));
  if (parts.empty()) parts.push_back("whole");
  if (!mesh.ranks.empty()) parts.push_back(fmt::format("{{{}}}", fmt::join(mesh.ranks, ",")));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace partita
