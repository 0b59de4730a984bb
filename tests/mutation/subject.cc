#include "tests/mutation/subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/derive/strategy.h"
#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "runtime/base/check.h"
#include "tools/models/models.h"

namespace partita {
namespace {

Model DrawModel(Dice& dice) {
  ModelOptions options;
  options.batch = 4 + static_cast<int64_t>(dice.Below(3));
  options.channel_limit = 3 + static_cast<int64_t>(dice.Below(3));
  options.batch_norm = dice.OneIn(2);
  options.dropout = dice.OneIn(2);
  options.dtype = DType::kF64;
  const std::string name = dice.Pick(std::vector<std::string>{"lenet5", "mlp", "mini-inception"});
  options.image_size = name == "lenet5" ? 12 : 6;
  if (options.batch == 6 && dice.OneIn(2)) options.statistics_samples = 3;
  absl::StatusOr<Model> model = MakeModel(name, options, Ops());
  CHECK(model.ok());
  model->learning_rate = LearningRate{};
  model->learning_rate.base = 0.01;
  return *std::move(model);
}

std::vector<std::string> SplitsOf(const Graph& graph, const Node& node) {
  std::vector<std::string> splits = {"replicate", "at"};
  for (const Rule& rule : RulesOf(graph, node)) {
    if (rule.name != "partial") splits.push_back(rule.name);
  }
  return splits;
}

ParameterGroup DrawGroup(const std::string& parameter, const Optimizer& optimizer, Dice& dice) {
  const std::vector<AttributeDefinition>& known = FindOptimizer(optimizer.name, Ops().optimizers())->attributes;
  ParameterGroup group;
  group.pattern = parameter;
  const auto set = [&](const std::string& name, double value) {
    if (std::ranges::find(known, name, &AttributeDefinition::name) != known.end()) group.attributes.Set(name, value);
  };
  if (dice.OneIn(2)) group.rate = 0.5;
  if (dice.OneIn(2)) set("weight_decay", 0.01);
  if (dice.OneIn(3)) set("momentum", dice.OneIn(2) ? 0.8 : 0.1);
  if (dice.OneIn(3)) set("gradient_scale", dice.OneIn(2) ? 2.0 : 0.5);
  if (dice.OneIn(2)) group.clip_norm = dice.OneIn(2) ? 0.02 : 0;
  return group;
}

}  // namespace

absl::StatusOr<Graph> GraphOf(const Subject& subject) {
  return BuildGraph(subject.nodes, subject.loss, subject.metrics, Ops(), subject.further_losses);
}

OpConfig DrawEntry(const Subject& subject, Dice& dice) {
  const absl::StatusOr<Graph> graph = GraphOf(subject);
  const std::vector<Mesh> meshes = MeshesOf(subject.strategy);
  const std::vector<MeshAxis>& axes = dice.Pick(meshes).axes;
  const MeshAxis& axis = dice.Pick(axes.empty() ? meshes[0].axes : axes);
  OpConfig entry;
  if (!graph.ok()) {  // mutated before: any name and split will do
    entry.pattern = dice.Pick(subject.nodes).name;
    entry.axes[axis.name] = {"samples", 0, {}};
    return entry;
  }
  const NodeId id = static_cast<NodeId>(dice.Below(graph->nodes().size()));
  entry.pattern = graph->name(id);
  const std::vector<std::string> splits = SplitsOf(*graph, graph->node(id));
  const int coordinate = axis.size < 1 ? 0 : static_cast<int>(dice.Below(axis.size));
  const bool update = graph->node(id).op->name == "parameter" && dice.OneIn(2);
  AxisConfig config{dice.Pick(splits), 0, {}};
  if (config.split == "at") config.coordinate = coordinate;
  (update ? entry.update : entry.axes)[axis.name] = config;
  return entry;
}

std::string DrawGroups(Subject& subject, Dice& dice) {
  std::string said;
  std::vector<std::string> parameters;
  for (const NodeDescription& node : subject.nodes) {
    if (node.op == "parameter") parameters.push_back(node.name);
  }
  if (parameters.empty()) return said;
  for (size_t groups = dice.Below(3); groups-- > 0;) {
    const ParameterGroup group = DrawGroup(dice.Pick(parameters), subject.optimizer, dice);
    said += fmt::format("; group {}: rate {}, clip norm {}", group.pattern, group.rate, group.clip_norm.value_or(-1));
    for (const auto& [name, value] : group.attributes.entries()) said += fmt::format(", {} {}", name, ToString(value));
    subject.optimizer.groups.push_back(group);
  }
  if (!dice.OneIn(3)) return said;
  const std::string averaged = dice.OneIn(2) ? "*" : dice.Pick(parameters);
  subject.optimizer.average = MovingAverage{0.9, averaged, dice.OneIn(2)};
  return said + "; averages of " + averaged;
}

Subject DrawSubject(Dice& dice) {
  const Model model = DrawModel(dice);
  Subject subject;
  subject.model = model.name;
  subject.nodes = Describe(model.graph);
  subject.loss = model.graph.value(model.graph.loss).name;
  for (ValueId metric : model.graph.metrics) subject.metrics.push_back(model.graph.value(metric).name);
  subject.optimizer = model.optimizer;
  subject.learning_rate = model.learning_rate;
  const std::vector<std::vector<MeshAxis>> meshes = {
      {{"data", 1}}, {{"data", 2}}, {{"data", 3}}, {{"data", 2}, {"model", 2}}, {{"data", 1}, {"model", 3}}};
  subject.strategy.mesh.axes = dice.Pick(meshes);
  for (size_t entries = dice.Below(12); entries-- > 0;) subject.strategy.ops.push_back(DrawEntry(subject, dice));
  if (dice.OneIn(2)) subject.strategy.ops.push_back({"*", {{"data", {"samples", 0, {}}}}, {}});
  return subject;
}

}  // namespace partita
