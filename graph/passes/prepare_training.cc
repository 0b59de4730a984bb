#include "graph/passes/prepare_training.h"

#include "graph/derive/append_update.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/node_view.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Preparation {
 public:
  Preparation(const Graph& forward, const OpRegistry& registry) : registry_(registry), rewriter_(forward) {}

  absl::StatusOr<Graph> Run() {
    const Graph& from = rewriter_.from();
    RETURN_IF_ERROR(AddIteration());
    std::vector<std::pair<ValueId, ValueId>> updates;  // (state, its new value) in the copy
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
      const Node& node = from.node(id);
      if (node.op->name == "batch_norm") {
        RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", from.name(id)), BatchNorm(id, updates)));
      } else if (node.op->name == "dropout") {
        Dropout(id);
      } else {
        rewriter_.Copy(id);
      }
    }
    Graph graph = rewriter_.Finish();
    graph.AddState({iteration_, kNoValue});
    for (const auto& [state, update] : updates) graph.SetUpdate(state, update);
    return graph;
  }

 private:
  absl::StatusOr<std::vector<ValueId>> Add(const std::string& op_name, std::vector<ValueId> inputs,
                                           Attributes attributes, const std::vector<std::string>& names) {
    const OpDefinition* op = registry_.Find(op_name);
    CHECK(op != nullptr);
    ASSIGN_OR_RETURN(attributes, CompleteAttributes(*op, attributes));
    Node node{op, std::move(attributes), std::move(inputs), {}, Phase::kForward};
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(rewriter_.graph(), node));
    std::vector<Value> outputs;
    for (size_t o = 0; o < types.size(); ++o) outputs.push_back({names[o], types[o], {}, -1});
    const NodeId id = rewriter_.graph().AddNode(std::move(node), std::move(outputs));
    return rewriter_.graph().node(id).outputs;
  }

  absl::Status AddIteration() {
    Attributes attributes{
        {"dtype", std::string("i32")}, {"shape", IntList()}, {"initializer", std::string("constant")}, {"scale", 0.0}};
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, Add("state", {}, std::move(attributes), {kIterationName}));
    iteration_ = outputs[0];
    return absl::OkStatus();
  }

  absl::Status BatchNorm(NodeId id, std::vector<std::pair<ValueId, ValueId>>& updates) {
    const Graph& from = rewriter_.from();
    const Node& node = from.node(id);
    const std::string& name = from.name(id);
    const Shape& shape = from.type(node.inputs[0]).shape;
    const int64_t samples = node.attributes.Int("statistics_samples");
    if (samples != 0 && shape[0] % samples != 0) {
      return InvalidArgument("statistics_samples={} does not divide the batch of {} samples", samples, shape[0]);
    }
    std::vector<ValueId> in;
    for (ValueId input : node.inputs) in.push_back(rewriter_.At(input));
    const ValueId x = in[0], gamma = in[1], beta = in[2], mean = in[3], variance = in[4];
    ASSIGN_OR_RETURN(const std::vector<ValueId> statistics,
                     Add("batch_norm_statistics", {x, mean}, {{"samples", samples}}, {name + "@statistics"}));
    ASSIGN_OR_RETURN(const std::vector<ValueId> y,
                     Add("batch_norm_normalize", {x, statistics[0], mean, gamma, beta},
                         {{"samples", samples}, {"epsilon", node.attributes.Float("epsilon")}}, {name}));
    rewriter_.Map(node.outputs[0], y[0]);
    int64_t count = samples == 0 ? shape[0] : samples;
    for (size_t d = 1; d + 1 < shape.size(); ++d) count *= shape[d];
    ASSIGN_OR_RETURN(const std::vector<ValueId> running,
                     Add("batch_norm_running", {statistics[0], mean, variance},
                         {{"momentum", node.attributes.Float("momentum")}, {"count", count}},
                         {name + "@running_mean", name + "@running_variance"}));
    updates.push_back({mean, running[0]});
    updates.push_back({variance, running[1]});
    return absl::OkStatus();
  }

  void Dropout(NodeId id) {
    Node node = rewriter_.from().node(id);
    node.attributes.Set("key", rewriter_.from().name(id));
    node.inputs = {rewriter_.At(node.inputs[0]), iteration_};
    rewriter_.Replace(id, std::move(node));
  }

  const OpRegistry& registry_;
  Rewriter rewriter_;
  ValueId iteration_ = kNoValue;
};

}  // namespace

absl::StatusOr<Graph> PrepareTraining(const Graph& forward, const OpRegistry& registry) {
  return Preparation(forward, registry).Run();
}

}  // namespace partita
