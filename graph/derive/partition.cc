#include "graph/derive/partition.h"

#include <algorithm>

#include "graph/derive/choose_layout.h"
#include "graph/derive/layout_builder.h"
#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool HasRule(const std::vector<Rule>& rules, const std::string& split) {
  return split == "replicate" || split == "at" ||
         std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == split; });
}

class Partitioner {
 public:
  Partitioner(const Graph& forward, const Strategy& strategy, const OpRegistry& registry,
              const std::map<std::string, Layout>& states)
      : forward_(forward),
        strategy_(strategy),
        index_(strategy),
        states_(states),
        graph_(MeshesOf(strategy)),
        builder_(graph_, registry),
        value_(forward.values().size(), kNoValue),
        free_(forward.values().size()) {}

  absl::StatusOr<Graph> Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(forward_.nodes().size()); ++id) {
      const Node& node = forward_.node(id);
      if (node.op->is_state()) {
        RETURN_IF_ERROR(Defer(node));
      } else {
        RETURN_IF_ERROR(Place(node));
      }
    }
    RETURN_IF_ERROR(Finish());
    return std::move(graph_);
  }

 private:
  // States and parameters wait for their first consumer, which decides how they lie, but for the axes that are named
  // here.
  absl::Status Defer(const Node& node) {
    const Value& value = forward_.value(node.outputs[0]);
    FreeSource source{value.name, node.op, node.attributes, value.type, -1, {}};
    if (auto found = states_.find(value.name); found != states_.end()) {
      source.mesh = found->second.mesh;
      for (const AxisLayout& axis : found->second) source.fixed.push_back(axis);
    } else {
      RETURN_IF_ERROR(FixNamedAxes(node, value, source));
    }
    free_[node.outputs[0]] = std::move(source);
    return absl::OkStatus();
  }

  // A parameter follows its op unless an entry names it, and it alone.
  absl::Status FixNamedAxes(const Node& node, const Value& value, FreeSource& source) {
    for (int i : index_.Matching(value.name)) {
      const OpConfig& config = strategy_.ops[i];
      if (config.pattern != value.name || config.axes.empty()) continue;
      const Mesh& mesh = graph_.meshes()[FindAxis(graph_.meshes(), config.axes.begin()->first).mesh];
      if (source.mesh >= 0 && source.mesh != mesh.id) continue;  // an entry before this one decides the mesh
      source.mesh = mesh.id;
      source.fixed.resize(mesh.axes.size());
      LayoutRequest request{node.op, NodeView{node.attributes, {}, {value.type}}, {}, {}, true, &mesh};
      request.configs.resize(mesh.axes.size());
      for (const auto& [axis, choice] : config.axes) request.configs[mesh.AxisIndex(axis)] = choice;
      auto layouts = ChooseLayouts(request);
      if (!layouts.ok()) return WithContext(fmt::format("node '{}'", value.name), layouts.status());
      for (const auto& [axis, choice] : config.axes) {
        const int a = mesh.AxisIndex(axis);
        if (!source.fixed[a]) source.fixed[a] = layouts->outputs[0][a];
      }
    }
    return source.mesh < 0 ? absl::OkStatus() : CheckNamedAxes(source);
  }

  // Of several entries each is legal alone.
  absl::Status CheckNamedAxes(const FreeSource& source) const {
    const Mesh& mesh = graph_.meshes()[source.mesh];
    Layout said = Replicated(mesh);
    for (size_t a = 0; a < said.size(); ++a) {
      if (source.fixed[a]) said[a] = *source.fixed[a];
    }
    return WithContext(fmt::format("node '{}'", source.name), CheckLayout(said, source.type.shape, mesh));
  }

  absl::Status Place(const Node& node) {
    NodeRequest request;
    request.op = node.op->name;
    request.attributes = node.attributes;
    request.phase = node.phase;
    for (ValueId output : node.outputs) request.names.push_back(forward_.value(output).name);
    for (ValueId input : node.inputs) {
      const bool free = input != kNoValue && free_[input].op != nullptr && value_[input] == kNoValue;
      request.inputs.push_back(input == kNoValue || free ? kNoValue : value_[input]);
      request.free.push_back(free ? &free_[input] : nullptr);
    }
    request.config = ConfigOf(strategy_, index_, request.names[0], RulesOf(forward_, node));
    builder_.SetMicroBatch(node.micro_batch);
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, builder_.Add(request));
    for (size_t o = 0; o < outputs.size(); ++o) value_[node.outputs[o]] = outputs[o];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (request.free[i] != nullptr) value_[node.inputs[i]] = graph_.Find(request.free[i]->name);
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    builder_.SetMicroBatch(-1);
    for (const State& state : forward_.states()) {
      if (value_[state.value] == kNoValue) {  // nobody reads it here
        const FreeSource& source = free_[state.value];
        ASSIGN_OR_RETURN(value_[state.value], builder_.AddSource(*source.op, source.attributes, source.name,
                                                                 LayoutOfUnread(source), Phase::kForward));
      }
      ValueId update = kNoValue;
      if (state.update != kNoValue) {
        update = builder_.MoveTo(value_[state.update], graph_.layout(value_[state.value]), Phase::kUpdate);
      }
      graph_.AddState({value_[state.value], update});
    }
    if (forward_.loss != kNoValue) graph_.loss = value_[forward_.loss];
    for (FurtherLoss further : forward_.further_losses) {
      further.value = value_[further.value];
      graph_.further_losses.push_back(further);
    }
    for (ValueId metric : forward_.metrics) graph_.metrics.push_back(value_[metric]);
    return absl::OkStatus();
  }

  // As it is fixed beforehand; else as the state that it is like, if that has been placed.
  Layout LayoutOfUnread(const FreeSource& source) const {
    if (source.mesh < 0 && source.attributes.Has("like")) {
      const ValueId alike = graph_.Find(source.attributes.String("like"));
      if (alike != kNoValue) return graph_.layout(alike);
    }
    Layout layout = Replicated(graph_.meshes()[std::max(source.mesh, 0)]);
    for (size_t a = 0; a < source.fixed.size(); ++a) {
      if (source.fixed[a]) layout[a] = *source.fixed[a];
    }
    return layout;
  }

  const Graph& forward_;
  const Strategy& strategy_;
  const StrategyIndex index_;
  const std::map<std::string, Layout>& states_;
  Graph graph_;
  LayoutBuilder builder_;
  std::vector<ValueId> value_;    // of the forward graph's values in graph_
  std::vector<FreeSource> free_;  // op == nullptr: not a state
};

}  // namespace

NodeConfig ConfigOf(const Strategy& strategy, const StrategyIndex& index, const std::string& name,
                    const std::vector<Rule>& rules) {
  NodeConfig config;
  for (int i : index.Matching(UserNameOf(name))) {
    const OpConfig& entry = strategy.ops[i];
    const bool exact = entry.pattern == name;
    for (const auto& [axis_name, said] : entry.axes) {
      if (!exact && !HasRule(rules, said.split)) continue;
      const AxisPlace place = FindAxis(index.meshes(), axis_name);
      if (place.mesh < 0) continue;
      const std::vector<MeshAxis>& axes = index.meshes()[place.mesh].axes;
      if (config.mesh < 0) config = {place.mesh, std::vector<std::optional<AxisConfig>>(axes.size())};
      if (config.mesh != place.mesh || config.axes[place.axis] || axes[place.axis].size == 1) continue;
      config.axes[place.axis] = said;
    }
  }
  return config;
}

absl::StatusOr<Graph> Partition(const Graph& forward, const Strategy& strategy, const OpRegistry& registry,
                                const std::map<std::string, Layout>& states) {
  return Partitioner(forward, strategy, registry, states).Run();
}

}  // namespace partita
