#include "graph/proto_io/proto_io.h"

#include "graph/proto_io/proto_io_attributes.h"
#include "graph/proto_io/proto_io_optimizer.h"
#include "graph/read/graph_assembler.h"
#include "graph/read/learning_rate.h"
#include "graph/read/model_entries.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "proto/graph.pb.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<NodeDescription>> ReadNodes(const GraphProto& proto) {
  std::vector<NodeDescription> nodes;
  nodes.reserve(proto.nodes_size());
  for (const NodeProto& node : proto.nodes()) {
    absl::StatusOr<Attributes> attributes = ReadAttributes(node.attributes());
    if (!attributes.ok()) return WithContext(fmt::format("node {}", Quoted(node.name())), attributes.status());
    nodes.push_back({node.name(), node.op(), {node.inputs().begin(), node.inputs().end()}, *std::move(attributes)});
  }
  return nodes;
}

LearningRate ReadLearningRate(const LearningRateProto& proto) {
  return {proto.schedule(),
          proto.base(),
          proto.steps(),
          proto.warmup_steps(),
          proto.decay(),
          proto.decay_steps(),
          proto.final(),
          proto.warmup().empty() ? "linear" : proto.warmup(),
          proto.decay_start(),
          proto.decay_times(),
          proto.has_power() ? proto.power() : 1,
          proto.patience()};
}

// Whether there is such an op with such attributes.
absl::Status CheckOp(const NodeProto& node, const OpRegistry& registry) {
  ASSIGN_OR_RETURN(const OpDefinition* const op, FindUserOp(registry, node.op()));
  ASSIGN_OR_RETURN(const Attributes attributes, ReadAttributes(node.attributes()));
  return CompleteAttributes(*op, attributes).status();
}

// What must be there, so that a file that is cut short between two fields is refused. An unknown op or attribute comes
// first: its line may be all that is wrong.
absl::Status CheckComplete(const GraphProto& proto, const OpRegistry& registry) {
  for (const NodeProto& node : proto.nodes()) {
    RETURN_IF_ERROR(WithContext(fmt::format("node {}", Quoted(node.name())), CheckOp(node, registry)));
  }
  if (!proto.name().empty()) RETURN_IF_ERROR(WithContext("field name", CheckNodeName(proto.name())));
  if (proto.loss_size() != 1) {
    return InvalidArgument("the graph names {} losses; exactly one is needed{}", proto.loss_size(),
                           proto.loss_size() > 1 ? " (others are further_losses or metrics)" : "");
  }
  if (!proto.has_optimizer())
    return InvalidArgument("field optimizer is missing; it is needed (\"optimizer {{}}\" is plain SGD)");
  if (!proto.has_learning_rate()) return InvalidArgument("field learning_rate is missing; it is needed");
  return absl::OkStatus();
}

std::vector<FurtherLossDescription> ReadFurtherLosses(const GraphProto& proto) {
  std::vector<FurtherLossDescription> losses;
  for (const FurtherLossProto& loss : proto.further_losses()) {
    losses.push_back({loss.value(), loss.weight(), loss.training_only()});
  }
  return losses;
}

absl::StatusOr<ModelEntry> ReadEntry(const EntryPointProto& proto) {
  ModelEntry entry;
  entry.name = proto.name();
  for (const EntrySizeProto& size : proto.sizes()) {
    if (entry.rows.emplace(size.input(), Shape(size.row().values().begin(), size.row().values().end())).second)
      continue;
    return InvalidArgument("entry point {}: sizes of {} are given twice; once is allowed", Quoted(proto.name()),
                           Quoted(size.input()));
  }
  for (const EntryResultProto& result : proto.results()) {
    entry.results.push_back({result.value(), result.name().empty() ? result.value() : result.name()});
  }
  return entry;
}

void WriteEntry(const ModelEntry& entry, EntryPointProto& proto) {
  proto.set_name(entry.name);
  for (const auto& [input, row] : entry.rows) {
    EntrySizeProto& size = *proto.add_sizes();
    size.set_input(input);
    for (const int64_t each : row) size.mutable_row()->add_values(each);
  }
  for (const auto& [value, name] : entry.results) {
    EntryResultProto& result = *proto.add_results();
    result.set_value(value);
    if (name != value) result.set_name(name);
  }
}

absl::StatusOr<Model> ReadModel(const GraphProto& proto, const OpRegistry& registry) {
  RETURN_IF_ERROR(CheckComplete(proto, registry));
  Model model;
  model.name = proto.name();
  model.learning_rate = ReadLearningRate(proto.learning_rate());
  ASSIGN_OR_RETURN(model.optimizer, ReadOptimizer(proto.optimizer(), registry));
  RETURN_IF_ERROR(VerifyLearningRate(model.learning_rate));
  ASSIGN_OR_RETURN(const std::vector<NodeDescription> nodes, ReadNodes(proto));
  for (const EntryPointProto& entry : proto.entry_points()) {
    ASSIGN_OR_RETURN(model.entries.emplace_back(), ReadEntry(entry));
  }
  RETURN_IF_ERROR(
      BuildGraphs(nodes, {proto.loss(0), {proto.metrics().begin(), proto.metrics().end()}, ReadFurtherLosses(proto)},
                  registry, model));
  RETURN_IF_ERROR(VerifyPatterns(model.graph, model.optimizer));
  return model;
}

void WriteNode(const NodeDescription& node, NodeProto& proto) {
  proto.set_name(node.name);
  proto.set_op(node.op);
  for (const std::string& input : node.inputs) proto.add_inputs(input);
  WriteAttributes(node.attributes, *proto.mutable_attributes());
}

GraphProto WriteModel(const Model& model) {
  GraphProto proto;
  proto.set_schema_version(1);
  proto.set_name(model.name);
  for (const NodeDescription& node : DescribeNodes(model)) WriteNode(node, *proto.add_nodes());
  proto.add_loss(model.graph.value(model.graph.loss).name);
  for (const FurtherLossDescription& further : DescribeFurtherLosses(model.graph)) {
    FurtherLossProto& loss = *proto.add_further_losses();
    loss.set_value(further.value);
    loss.set_weight(further.weight);
    loss.set_training_only(further.training_only);
  }
  for (const ModelEntry& entry : model.entries) WriteEntry(entry, *proto.add_entry_points());
  for (ValueId metric : model.graph.metrics) proto.add_metrics(model.graph.value(metric).name);
  WriteOptimizer(model.optimizer, *proto.mutable_optimizer());
  LearningRateProto& rate = *proto.mutable_learning_rate();
  rate.set_schedule(model.learning_rate.schedule);
  rate.set_base(model.learning_rate.base);
  rate.set_steps(model.learning_rate.steps);
  rate.set_warmup_steps(model.learning_rate.warmup_steps);
  rate.set_decay(model.learning_rate.decay);
  rate.set_decay_steps(model.learning_rate.decay_steps);
  rate.set_final(model.learning_rate.final);
  if (model.learning_rate.warmup != "linear") rate.set_warmup(model.learning_rate.warmup);
  rate.set_decay_start(model.learning_rate.decay_start);
  rate.set_decay_times(model.learning_rate.decay_times);
  if (model.learning_rate.power != 1) rate.set_power(model.learning_rate.power);
  rate.set_patience(model.learning_rate.patience);
  return proto;
}

}  // namespace

absl::StatusOr<Model> LoadModel(const std::string& path, const OpRegistry& registry) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseModel(file.bytes, file.format, path, registry);
}

absl::StatusOr<Model> ParseModel(const std::string& bytes, ProtoFormat format, const std::string& source,
                                 const OpRegistry& registry) {
  return OrExhausted("a graph", [&]() -> absl::StatusOr<Model> {
    GraphProto proto;
    RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
    absl::StatusOr<Model> model = ReadModel(proto, registry);
    if (!model.ok()) return WithContext(source, model.status());
    return model;
  });
}

std::string PrintModel(const Model& model, ProtoFormat format) { return PrintMessage(WriteModel(model), format); }

absl::Status SaveModel(const Model& model, const std::string& path) { return SaveMessage(WriteModel(model), path); }

}  // namespace partita
