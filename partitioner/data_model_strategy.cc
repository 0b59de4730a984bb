#include "partitioner/data_model_strategy.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace partita {
namespace {

AxisConfig Split(const std::string& name) { return {name, 0, {}}; }

}  // namespace

absl::StatusOr<Strategy> DataModelStrategy(const Graph& forward, int data, int model) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", data}, {"model", model}};
  if (data < 1 || model < 1) {
    return InvalidArgument("--dp {} --mp {}: both must be at least 1", data, model);
  }
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const Node& node = forward.node(id);
    const std::string& op = node.op->name;
    OpConfig config{forward.name(id), {}, {}};
    if (op == "conv2d" || op == "matmul") {
      const std::vector<Rule> rules = RulesOf(forward, node);
      const bool splits =
          std::any_of(rules.begin(), rules.end(), [](const Rule& r) { return r.name == "output_channels"; });
      const bool enough = forward.type(node.outputs[0]).shape.back() >= model;
      config.axes["model"] = Split(splits && enough ? "output_channels" : "replicate");
    } else if (op == "softmax_cross_entropy" || op == "log_softmax" || op == "accuracy") {
      config.axes["model"] = Split("replicate");
    } else if (op == "concat" || op == "reshape") {
      // Along a dimension that the channel split may lie on they take R.
      const int channels = static_cast<int>(forward.type(node.inputs[0]).shape.size()) - 1;
      if (op == "reshape" || node.attributes.Int("axis") == channels) config.axes["model"] = Split("replicate");
    }
    if (!config.axes.empty()) strategy.ops.push_back(std::move(config));
  }
  strategy.ops.push_back({"*", {{"data", Split("samples")}}, {}});
  return strategy;
}

}  // namespace partita
