#include "tests/graph/schedule/schedule_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/ir/group_key.h"
#include "graph/moves/move_ops.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<OpDefinition> Definitions() {
  std::vector<OpDefinition> ops = MoveDefinitions();
  for (const char* name :
       {"input", "parameter", "state", "fill", "combine", "twin", "reshape", "refused", "slice", "concat"}) {
    OpDefinition op;
    op.name = name;
    ops.push_back(op);
  }
  const std::map<std::string, Role> roles = {{"input", Role::kInput},
                                             {"parameter", Role::kParameter},
                                             {"state", Role::kState},
                                             {"slice", Role::kSlice},
                                             {"concat", Role::kConcat}};
  for (OpDefinition& op : ops) {
    if (op.name == "combine") op.in_place = {{0, 0}};
    if (op.name == "twin") op.in_place = {{0, 0}, {1, 1}};
    op.view = op.name == "reshape";
    if (const auto role = roles.find(op.name); role != roles.end()) op.role = role->second;
  }
  return ops;
}

}  // namespace

const OpDefinition& TestOp(const std::string& name) {
  static const auto& registry = *new OpRegistry(Definitions());
  const OpDefinition* op = registry.Find(name);
  CHECK(op != nullptr);
  return *op;
}

Layout TestGraph::Complete(Layout layout) const {
  layout.resize(graph.mesh().axes.size());
  return layout;
}

ValueId TestGraph::Input(const std::string& name, Shape shape, Layout layout, DType dtype) {
  const NodeId node = graph.AddNode({&TestOp("input"), {}, {}, {}, Phase::kForward},
                                    {{name, {dtype, std::move(shape)}, Complete(layout)}});
  return graph.node(node).outputs[0];
}

ValueId TestGraph::Parameter(const std::string& name, Shape shape, Layout layout) {
  const ValueId value = Op("parameter", name, {}, std::move(shape), std::move(layout));
  graph.AddState({value, kNoValue});
  return value;
}

ValueId TestGraph::State(const std::string& name, Shape shape, Layout layout) {
  const ValueId value = Op("state", name, {}, std::move(shape), std::move(layout));
  graph.AddState({value, kNoValue});
  return value;
}

ValueId TestGraph::Op(const std::string& op, const std::string& name, std::vector<ValueId> inputs, Shape shape,
                      Layout layout, Attributes attributes) {
  const NodeId node = graph.AddNode({&TestOp(op), std::move(attributes), std::move(inputs), {}, Phase::kForward},
                                    {{name, {DType::kF32, std::move(shape)}, Complete(std::move(layout))}});
  return graph.node(node).outputs[0];
}

ValueId TestGraph::Slice(const std::string& name, ValueId x, int64_t first, int64_t width) {
  Shape shape = graph.type(x).shape, begin(shape.size(), 0);
  shape.back() = width;
  begin.back() = first;
  return Op("slice", name, {x}, shape, graph.layout(x), {{"begin", begin}});
}

ValueId TestGraph::Concat(const std::string& name, const std::vector<ValueId>& inputs) {
  Shape shape = graph.type(inputs[0]).shape;
  shape.back() = 0;
  for (const ValueId input : inputs) shape.back() += graph.type(input).shape.back();
  const auto axis = static_cast<int64_t>(shape.size()) - 1;
  return Op("concat", name, inputs, shape, graph.layout(inputs[0]), {{"axis", axis}});
}

std::vector<ValueId> TestGraph::Twin(const std::string& name, ValueId x, ValueId y) {
  const Value first{name + ".0", graph.type(x), graph.layout(x)};
  const Value second{name + ".1", graph.type(y), graph.layout(y)};
  return graph.node(graph.AddNode({&TestOp("twin"), {}, {x, y}, {}, Phase::kForward}, {first, second})).outputs;
}

ValueId TestGraph::Move(const std::string& op, const std::string& axes, ValueId input, Layout layout,
                        Attributes attributes) {
  attributes.Set("axes", axes);
  const std::string name = graph.UniqueName(graph.value(input).name + "@" + op);
  const Value output{name, graph.type(input), Complete(std::move(layout))};
  return graph
      .node(graph.AddNode({&TestOp(op), *CompleteAttributes(TestOp(op), attributes), {input}, {}, Phase::kForward},
                          {output}))
      .outputs[0];
}

std::vector<ValueId> TestGraph::Bucket(const std::string& axes, const std::vector<ValueId>& inputs) {
  std::vector<Value> outputs;
  for (ValueId input : inputs) {
    Layout layout = graph.layout(input);
    for (AxisLayout& axis : layout) {
      if (axis.partial()) axis = AxisLayout::Replicate();
    }
    std::string name = graph.UniqueName(graph.value(input).name + "@all_reduce");
    while (std::any_of(outputs.begin(), outputs.end(), [&](const Value& output) { return output.name == name; })) {
      name += "@again";
    }
    outputs.push_back({name, graph.type(input), layout});
  }
  const Node node{&TestOp("all_reduce"), {{"axes", axes}}, inputs, {}, Phase::kBackward};
  return graph.node(graph.AddNode(node, outputs)).outputs;
}

Program ProgramOf(Graph graph) {
  Program program;
  program.meshes = graph.meshes();
  const int axes = static_cast<int>(graph.mesh().axes.size());
  for (int set = 1; set < 1 << axes; ++set) {
    std::vector<int> indices;
    for (int a = 0; a < axes; ++a) {
      if (set >> a & 1) indices.push_back(a);
    }
    const GroupKey key{0, 0, indices};
    for (std::vector<int>& ranks : GroupsOf(key, graph.meshes())) program.groups.push_back({key, std::move(ranks)});
  }
  program.entries.push_back(MakeEntryPoint(kTrainEntry, graph));
  program.entries.push_back(MakeEntryPoint(kEvaluateEntry, std::move(graph)));
  return program;
}

absl::StatusOr<KernelChoice> TestKernels::Choose(const LocalNode& node) const {
  if (node.op->name == "refused") return InvalidArgument("node '{}': no kernel takes it", node.name);
  return KernelChoice{"test", workspace_bytes_, true};
}

bool TestKernels::TakesColumns(const LocalNode& node, const KernelChoice&, size_t) const {
  return columns_ && node.op->role == Role::kCompute;
}

std::vector<Schedule> SchedulesOf(const Program& program, const Graph& entry, const ScheduleOptions& options,
                                  int64_t workspace_bytes, bool columns) {
  absl::StatusOr<std::vector<Schedule>> schedules =
      MakeSchedules(program, entry, TestKernels(workspace_bytes, columns), options);
  if (!schedules.ok()) fmt::print(stderr, "{}\n", std::string(schedules.status().message()));
  CHECK(schedules.ok());
  return *std::move(schedules);
}

Graph RandomGraph(uint64_t seed, int nodes) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
  TestGraph builder;
  const std::vector<Shape> shapes = {{16}, {3, 5}, {64}, {7, 11}};
  std::vector<std::vector<ValueId>> by_shape(shapes.size());
  std::vector<std::vector<ValueId>> states(shapes.size());
  for (size_t s = 0; s < shapes.size(); ++s) {
    by_shape[s].push_back(builder.Input(fmt::format("x{}", s), shapes[s]));
    for (int k = 0; k < 2; ++k) {
      states[s].push_back(builder.Parameter(fmt::format("w{}.{}", s, k), shapes[s]));
      by_shape[s].push_back(states[s].back());
    }
  }
  for (int n = 0; n < nodes; ++n) {
    const int s = below(shapes.size());
    // Mostly recent values, so that older ones die.
    const auto pick = [&] {
      const size_t recent = std::min<size_t>(by_shape[s].size(), below(8) == 0 ? by_shape[s].size() : 4);
      return by_shape[s][by_shape[s].size() - 1 - below(recent)];
    };
    const std::string name = fmt::format("n{}", n);
    switch (below(5)) {
      case 0:
        for (ValueId output : builder.Twin(name, pick(), pick())) by_shape[s].push_back(output);
        break;
      case 1:
        by_shape[s].push_back(builder.Op("reshape", name, {pick()}, shapes[s]));
        break;
      default: {
        std::vector<ValueId> inputs;
        for (int i = below(3); i >= 0; --i) inputs.push_back(pick());
        by_shape[s].push_back(builder.Op("combine", name, inputs, shapes[s]));
      }
    }
  }
  for (size_t s = 0; s < shapes.size(); ++s) {
    for (ValueId state : states[s]) {
      builder.graph.SetUpdate(state, by_shape[s][below(3) == 0 ? below(by_shape[s].size()) : by_shape[s].size() - 1]);
    }
    builder.graph.metrics.push_back(by_shape[s][below(by_shape[s].size())]);
  }
  return std::move(builder.graph);
}

int FindLaunch(const Schedule& schedule, const std::string& name) {
  for (size_t l = 0; l < schedule.launches.size(); ++l) {
    if (schedule.launches[l].name == name) return static_cast<int>(l);
  }
  return -1;
}

}  // namespace partita
