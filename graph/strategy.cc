#include "graph/strategy.h"

#include <algorithm>
#include <set>

#include "graph/op_definition.h"
#include "graph/passes/split_classes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<std::string> AxisNames(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const MeshAxis& axis : mesh.axes) names.push_back(axis.name);
  return names;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& names) {
  const std::optional<std::string> nearest = NearestName(name, names);
  return nearest ? fmt::format("did you mean '{}'?", *nearest) : fmt::format("known are [{}]", fmt::join(names, ", "));
}

absl::Status CheckMesh(const Mesh& mesh) {
  constexpr int64_t kMostRanks = 65536;
  std::set<std::string> names;
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

absl::Status CheckPipeline(const Pipeline& pipeline, const Mesh& mesh) {
  if (pipeline.micro_batches < 1) {
    return InvalidArgument("micro_batches is {}; at least 1 is allowed", pipeline.micro_batches);
  }
  if (pipeline.stage_axis.empty() || mesh.AxisIndex(pipeline.stage_axis) >= 0) return absl::OkStatus();
  return InvalidArgument("stage_axis: the mesh has no axis '{}'; {}", pipeline.stage_axis.substr(0, 64),
                         DidYouMean(pipeline.stage_axis, AxisNames(mesh)));
}

bool Exact(const OpConfig& entry) { return entry.pattern.find_first_of("*?") == std::string::npos; }

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
  if (HasClasses(*node.op)) matched.splits.insert(kClassSplit);
  if (!entry.update.empty() && Exact(entry) && node.op->name != "parameter") {
    return InvalidArgument("entry '{}': only a parameter has an update; '{}' is a {}", entry.pattern, name,
                           node.op->name);
  }
  return absl::OkStatus();
}

absl::Status CheckAxes(const OpConfig& entry, const Mesh& mesh, const Matched& matched) {
  if (entry.axes.empty() && entry.update.empty()) return InvalidArgument("entry '{}' says nothing", entry.pattern);
  for (const auto* said : {&entry.axes, &entry.update}) {
    for (const auto& [name, config] : *said) {
      const int axis = mesh.AxisIndex(name);
      if (axis < 0) {
        return InvalidArgument("entry '{}': the mesh has no axis '{}'; {}", entry.pattern, name,
                               DidYouMean(name, AxisNames(mesh)));
      }
      if (config.split == "at" && (config.coordinate < 0 || config.coordinate >= mesh.axes[axis].size)) {
        return InvalidArgument("entry '{}': at {} lies off axis '{}', which has {} ranks", entry.pattern,
                               config.coordinate, name, mesh.axes[axis].size);
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

bool MatchesPattern(const std::string& pattern, const std::string& text) {
  size_t p = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<Rule> RulesOf(const Graph& graph, const Node& node) {
  NodeView view{node.attributes, {}, {}};
  for (ValueId input : node.inputs) view.inputs.push_back(input == kNoValue ? nullptr : &graph.type(input));
  for (ValueId output : node.outputs) view.outputs.push_back(graph.type(output));
  return node.op->rules ? node.op->rules(view) : std::vector<Rule>();
}

StrategyIndex::StrategyIndex(const Strategy& strategy) : strategy_(strategy) {
  for (int i = 0; i < static_cast<int>(strategy.ops.size()); ++i) {
    if (Exact(strategy.ops[i])) {
      exact_[strategy.ops[i].pattern].push_back(i);
    } else {
      patterns_.push_back(i);
    }
  }
}

std::vector<int> StrategyIndex::Matching(const std::string& name) const {
  std::vector<int> matching;
  if (auto found = exact_.find(name); found != exact_.end()) matching = found->second;
  for (int i : patterns_) {
    if (MatchesPattern(strategy_.ops[i].pattern, name)) matching.push_back(i);
  }
  std::sort(matching.begin(), matching.end());
  return matching;
}

absl::Status CheckStrategy(const Strategy& strategy, const Graph& forward) {
  RETURN_IF_ERROR(CheckMesh(strategy.mesh));
  RETURN_IF_ERROR(CheckPipeline(strategy.pipeline, strategy.mesh));
  const StrategyIndex index(strategy);
  std::vector<Matched> matched(strategy.ops.size());
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const std::vector<int> entries = index.Matching(forward.name(id));
    if (entries.empty()) continue;
    const std::vector<Rule> rules = RulesOf(forward, forward.node(id));
    for (int i : entries) {
      RETURN_IF_ERROR(CheckMatch(strategy.ops[i], forward.node(id), rules, forward.name(id), matched[i]));
    }
  }
  for (size_t i = 0; i < strategy.ops.size(); ++i) {
    if (matched[i].nodes == 0) return NamesNothing(strategy.ops[i], forward);
    RETURN_IF_ERROR(CheckAxes(strategy.ops[i], strategy.mesh, matched[i]));
  }
  return absl::OkStatus();
}

}  // namespace partita
