#include "graph/derive/strategy.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "graph/derive/recomputed_blocks.h"
#include "graph/ir/group_key.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_definition.h"
#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "graph/value/pattern.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr std::pair<const char*, InputGradients> kInputGradients[] = {
    {"reduce_scatter", InputGradients::kReduceScatter},
    {"all_reduce", InputGradients::kAllReduce},
};

std::vector<std::string> AxisNames(const std::vector<Mesh>& meshes) {
  std::vector<std::string> names;
  for (const Mesh& mesh : meshes) {
    for (const MeshAxis& axis : mesh.axes) names.push_back(axis.name);
  }
  return names;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& names) {
  const std::optional<std::string> nearest = NearestName(name, names);
  return nearest ? fmt::format("did you mean '{}'?", *nearest) : fmt::format("known are [{}]", fmt::join(names, ", "));
}

// "the mesh has no axis 'x'; did you mean 'y'?"
std::string NoSuchAxis(const std::string& axis, const std::vector<Mesh>& meshes) {
  return fmt::format("{} no axis '{}'; {}", meshes.size() == 1 ? "the mesh has" : "the meshes have", axis,
                     DidYouMean(axis, AxisNames(meshes)));
}

// `names`: of axes of meshes before this one; those of this one are added.
absl::Status CheckAxes(const Mesh& mesh, std::set<std::string>& names) {
  if (mesh.axes.size() > kMostAxes) {
    return InvalidArgument("the mesh has {} axes; at most {} are allowed", mesh.axes.size(), kMostAxes);
  }
  int64_t ranks = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.name.empty() ||
        axis.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos) {
      return InvalidArgument("mesh axis '{}': names are made of a-z, 0-9 and _", axis.name.substr(0, 64));
    }
    if (!names.insert(axis.name).second) return InvalidArgument("mesh axis '{}' is named twice", axis.name);
    if (axis.size < 1) return InvalidArgument("mesh axis '{}' has size {}; at least 1 is needed", axis.name, axis.size);
    ranks *= axis.size;
    if (ranks > kMostRanks) return InvalidArgument("the mesh has more than {} ranks", kMostRanks);
  }
  return absl::OkStatus();
}

// Of a further mesh: what its name and its ranks are.
absl::Status CheckPlace(const Mesh& mesh, const Mesh& first) {
  if (mesh.axes.empty()) return InvalidArgument("mesh '{}' has no axis; at least one is needed", mesh.name);
  const int size = mesh.size();
  if (mesh.ranks.empty() && size > first.size()) {
    return InvalidArgument("mesh '{}' has {}; the first mesh, which has all, has {}", mesh.name, Counted(size, "rank"),
                           first.size());
  }
  if (!mesh.ranks.empty() && static_cast<int>(mesh.ranks.size()) != size) {
    return InvalidArgument("mesh '{}' names {}; its axes have room for {}", mesh.name,
                           Counted(mesh.ranks.size(), "rank"), size);
  }
  std::set<int> seen;
  for (int rank : mesh.ranks) {
    if (rank < 0 || rank >= first.size()) {
      return InvalidArgument("mesh '{}' names rank {}; the first mesh has the ranks 0 to {}", mesh.name, rank,
                             first.size() - 1);
    }
    if (!seen.insert(rank).second) {
      return InvalidArgument("mesh '{}' names rank {} twice; once is allowed", mesh.name, rank);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMeshes(const Strategy& strategy) {
  if (strategy.further_meshes.size() > kMostFurtherMeshes) {
    return InvalidArgument("there are {} further meshes; at most {} are allowed", strategy.further_meshes.size(),
                           kMostFurtherMeshes);
  }
  std::set<std::string> axes, names;
  RETURN_IF_ERROR(CheckAxes(strategy.mesh, axes));
  for (const Mesh& mesh : strategy.further_meshes) {
    if (mesh.name.empty()) return InvalidArgument("a further mesh has no name");
    if (mesh.name == kFirstMesh) return InvalidArgument("mesh '{}': that name means the first mesh", kFirstMesh);
    if (!names.insert(mesh.name).second) return InvalidArgument("mesh '{}' is named twice", mesh.name);
    RETURN_IF_ERROR(CheckAxes(mesh, axes));
    RETURN_IF_ERROR(CheckPlace(mesh, strategy.mesh));
  }
  return absl::OkStatus();
}

absl::Status CheckStageMeshes(const Pipeline& pipeline, const std::vector<Mesh>& meshes) {
  std::vector<std::string> names;
  for (size_t m = 1; m < meshes.size(); ++m) names.push_back(meshes[m].name);
  std::set<std::string> seen;
  for (const std::string& stage : pipeline.stage_meshes) {
    if (std::find(names.begin(), names.end(), stage) == names.end()) {
      return InvalidArgument("stage_meshes: there is no further mesh '{}'; {}", stage.substr(0, 64),
                             DidYouMean(stage, names));
    }
    if (!seen.insert(stage).second) return InvalidArgument("stage_meshes: mesh '{}' is two stages", stage);
  }
  if (pipeline.stage_meshes.empty() || pipeline.stage_axis.empty()) return absl::OkStatus();
  return InvalidArgument("stage_axis and stage_meshes are given; one of them is allowed");
}

absl::Status CheckPipeline(const Pipeline& pipeline, const std::vector<Mesh>& meshes) {
  if (pipeline.micro_batches < 1 || pipeline.micro_batches > kMostMicroBatches) {
    return InvalidArgument("micro_batches is {}; 1 to {} are allowed", pipeline.micro_batches, kMostMicroBatches);
  }
  RETURN_IF_ERROR(CheckStageMeshes(pipeline, meshes));
  if (pipeline.stage_axis.empty() || FindAxis(meshes, pipeline.stage_axis).mesh >= 0) return absl::OkStatus();
  return InvalidArgument("stage_axis: {}", NoSuchAxis(pipeline.stage_axis.substr(0, 64), meshes));
}

// What stands before the first '*' or '?'.
size_t LengthOfBeginning(const std::string& pattern) { return std::min(pattern.find_first_of("*?"), pattern.size()); }

absl::Status CheckPlacements(const Strategy& strategy, const Graph& forward) {
  const auto nodes = static_cast<int64_t>(forward.nodes().size());
  const int64_t ranks = strategy.mesh.size(), parts = strategy.pipeline.micro_batches;
  if (nodes * parts * ranks <= kMostPlacements) return absl::OkStatus();
  return InvalidArgument("{} nodes in {} micro-batches on {} ranks are {} placements; at most {} are allowed", nodes,
                         parts, ranks, nodes * parts * ranks, kMostPlacements);
}

bool Exact(const OpConfig& entry) { return LengthOfBeginning(entry.pattern) == entry.pattern.size(); }

// What a matched entry costs besides the comparison, in the time of comparing a character.
constexpr int64_t kCostOfMatch = 50;

absl::Status TooManyComparisons(const StrategyIndex& index, const Graph& forward) {
  return InvalidArgument(
      "{} patterns against the names of {} nodes take more than {} comparisons; fewer patterns, or such that begin "
      "with letters, are allowed",
      index.patterns(), forward.nodes().size(), kMostComparisons);
}

// What the nodes that an entry matches have to do with it.
struct Matched {
  int nodes = 0;
  std::set<std::string> splits;
};

absl::Status CheckMatch(const OpConfig& entry, const Node& node, const std::vector<Rule>& rules,
                        const std::string& name, Matched& matched) {
  ++matched.nodes;
  for (const Rule& rule : rules) {
    if (rule.name != "partial") matched.splits.insert(rule.name);
  }
  if (node.op->decomposition) matched.splits.insert(node.op->decomposition->split);
  if (!entry.update.empty() && Exact(entry) && node.op->role != Role::kParameter) {
    return InvalidArgument("entry '{}': only a parameter has an update; '{}' is a {}", entry.pattern, name,
                           node.op->name);
  }
  return absl::OkStatus();
}

absl::Status CheckEntry(const OpConfig& entry, const std::vector<Mesh>& meshes, const Matched& matched) {
  if (entry.axes.empty() && entry.update.empty()) return InvalidArgument("entry '{}' says nothing", entry.pattern);
  for (const auto* said : {&entry.axes, &entry.update}) {
    for (const auto& [name, config] : *said) {
      const AxisPlace place = FindAxis(meshes, name);
      if (place.mesh < 0) return InvalidArgument("entry '{}': {}", entry.pattern, NoSuchAxis(name, meshes));
      const std::string& other = said->begin()->first;
      if (FindAxis(meshes, other).mesh != place.mesh) {
        return InvalidArgument("entry '{}': the axes '{}' and '{}' are of two meshes; a node lies on one",
                               entry.pattern, other, name);
      }
      const int size = meshes[place.mesh].axes[place.axis].size;
      if (config.split == "at" && (config.coordinate < 0 || config.coordinate >= size)) {
        return InvalidArgument("entry '{}': at {} lies off axis '{}', which has {}", entry.pattern, config.coordinate,
                               name, Counted(size, "rank"));
      }
      if (config.split == "at" || config.split == "replicate" || matched.splits.count(config.split) > 0) continue;
      std::vector<std::string> known(matched.splits.begin(), matched.splits.end());
      known.insert(known.end(), {"replicate", "at"});
      return InvalidArgument("entry '{}': no node that it matches can be split by '{}'; {}", entry.pattern,
                             config.split, DidYouMean(config.split, known));
    }
  }
  return absl::OkStatus();
}

absl::Status NamesNothing(const OpConfig& entry, const Graph& forward) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < static_cast<NodeId>(std::min<size_t>(forward.nodes().size(), 4096)); ++id) {
    names.push_back(forward.name(id));
  }
  const std::optional<std::string> nearest = NearestName(entry.pattern, names);
  return InvalidArgument("entry '{}' names no node of the graph{}", entry.pattern,
                         nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
}

}  // namespace

const char* Name(InputGradients input_gradients) {
  for (const auto& [name, known] : kInputGradients) {
    if (known == input_gradients) return name;
  }
  return "?";
}

std::optional<InputGradients> FindInputGradients(const std::string& name) {
  for (const auto& [known, input_gradients] : kInputGradients) {
    if (name == known) return input_gradients;
  }
  return std::nullopt;
}

std::vector<std::string> InputGradientsNames() {
  std::vector<std::string> names;
  for (const auto& [name, known] : kInputGradients) names.push_back(name);
  return names;
}

std::vector<Rule> RulesOf(const Graph& graph, const Node& node) {
  return node.op->rules ? node.op->rules(ViewOf(graph, node)) : std::vector<Rule>();
}

std::vector<Mesh> MeshesOf(const Strategy& strategy) {
  std::vector<Mesh> meshes = {strategy.mesh};
  meshes.insert(meshes.end(), strategy.further_meshes.begin(), strategy.further_meshes.end());
  for (size_t m = 0; m < meshes.size(); ++m) meshes[m].id = static_cast<int>(m);
  return meshes;
}

StrategyIndex::StrategyIndex(const Strategy& strategy) : strategy_(strategy), meshes_(MeshesOf(strategy)) {
  for (int i = 0; i < static_cast<int>(strategy.ops.size()); ++i) {
    const std::string& pattern = strategy.ops[i].pattern;
    if (Exact(strategy.ops[i])) {
      exact_[pattern].push_back(i);
    } else {
      const size_t length = LengthOfBeginning(pattern);
      by_beginning_[length][pattern.substr(0, length)].push_back(i);
      ++patterns_;
    }
  }
}

const std::vector<int>& StrategyIndex::Matching(const std::string& name) const {
  int64_t unlimited = std::numeric_limits<int64_t>::max();
  return Matching(name, unlimited);
}

const std::vector<int>& StrategyIndex::Matching(const std::string& name, int64_t& comparisons) const {
  if (!name.empty() && name == name_) return matching_;
  name_.clear();
  matching_.clear();
  if (auto found = exact_.find(name); found != exact_.end()) matching_ = found->second;
  for (const auto& [length, patterns] : by_beginning_) {
    if (length > name.size()) break;
    const auto found = patterns.find(name.substr(0, length));
    comparisons -= static_cast<int64_t>(length) + 1;
    if (found == patterns.end()) continue;
    for (int i : found->second) {
      if (--comparisons < 0) return matching_;
      if (MatchesPattern(strategy_.ops[i].pattern, name, comparisons)) matching_.push_back(i);
    }
  }
  std::sort(matching_.begin(), matching_.end());
  name_ = name;
  return matching_;
}

absl::Status CheckStrategy(const Strategy& strategy, const Graph& forward) {
  RETURN_IF_ERROR(CheckMeshes(strategy));
  const StrategyIndex index(strategy);
  RETURN_IF_ERROR(CheckPipeline(strategy.pipeline, index.meshes()));
  RETURN_IF_ERROR(CheckPlacements(strategy, forward));
  std::vector<Matched> matched(strategy.ops.size());
  int64_t comparisons = kMostComparisons;
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const std::vector<int>& entries = index.Matching(forward.name(id), comparisons);
    comparisons -= kCostOfMatch * static_cast<int64_t>(entries.size());
    if (comparisons < 0) return TooManyComparisons(index, forward);
    if (entries.empty()) continue;
    const std::vector<Rule> rules = RulesOf(forward, forward.node(id));
    for (int i : entries) {
      RETURN_IF_ERROR(CheckMatch(strategy.ops[i], forward.node(id), rules, forward.name(id), matched[i]));
    }
  }
  for (size_t i = 0; i < strategy.ops.size(); ++i) {
    if (matched[i].nodes == 0) return NamesNothing(strategy.ops[i], forward);
    RETURN_IF_ERROR(CheckEntry(strategy.ops[i], index.meshes(), matched[i]));
  }
  return RecomputedBlocks(strategy.recompute).Check(forward, comparisons);
}

}  // namespace partita
