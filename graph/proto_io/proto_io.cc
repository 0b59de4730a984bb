#include "graph/proto_io/proto_io.h"

#include <cmath>

#include "graph/optimizer/optimizer.h"
#include "graph/read/graph_assembler.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "proto/graph.pb.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<Attribute> ReadText(const std::string& text) {
  if (text.size() > kLongestName) {
    return InvalidArgument("it has {} characters; at most {} are allowed", text.size(), kLongestName);
  }
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return InvalidArgument("it is {}; printable ASCII characters are allowed", Quoted(text));
  }
  return Attribute(text);
}

absl::StatusOr<Attribute> ReadIntegers(const IntegersProto& proto) {
  constexpr int kMost = 64;
  if (proto.values_size() > kMost) {
    return InvalidArgument("it has {} integers; at most {} are allowed", proto.values_size(), kMost);
  }
  return Attribute(IntList(proto.values().begin(), proto.values().end()));
}

absl::StatusOr<Attribute> ReadValue(const AttributeProto& proto) {
  switch (proto.value_case()) {
    case AttributeProto::kBoolean:
      return Attribute(proto.boolean());
    case AttributeProto::kInteger:
      return Attribute(int64_t{proto.integer()});
    case AttributeProto::kNumber:
      if (std::isfinite(proto.number())) return Attribute(proto.number());
      return InvalidArgument("it is {}; a finite number is needed", proto.number());
    case AttributeProto::kText:
      return ReadText(proto.text());
    case AttributeProto::kIntegers:
      return ReadIntegers(proto.integers());
    case AttributeProto::VALUE_NOT_SET:
      break;
  }
  return InvalidArgument("it has no value; one of boolean, integer, number, text, integers is needed");
}

using AttributeProtos = google::protobuf::RepeatedPtrField<AttributeProto>;

absl::StatusOr<Attributes> ReadAttributes(const AttributeProtos& protos) {
  Attributes attributes;
  for (const AttributeProto& proto : protos) {
    RETURN_IF_ERROR(WithContext("an attribute", CheckNodeName(proto.name())));
    const std::string context = fmt::format("attribute {}", Quoted(proto.name()));
    if (attributes.Has(proto.name())) return InvalidArgument("{} is given twice; once is allowed", context);
    absl::StatusOr<Attribute> value = ReadValue(proto);
    if (!value.ok()) return WithContext(context, value.status());
    attributes.Set(proto.name(), *std::move(value));
  }
  return attributes;
}

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

// The fields that are stochastic gradient descent without a name.
constexpr const char* kMomentum = "momentum";
constexpr const char* kWeightDecay = "weight_decay";
constexpr const char* kNesterov = "nesterov";

absl::Status CheckForm(const OptimizerProto& proto) {
  if (proto.name().empty()) {
    if (proto.attributes().empty()) return absl::OkStatus();
    return InvalidArgument("optimizer.attributes are given without optimizer.name; whose they are is needed");
  }
  const auto refused = [&](const char* field) {
    return InvalidArgument(
        "optimizer.{} is given beside optimizer.name; what {} is told stands in optimizer.attributes", field,
        Quoted(proto.name()));
  };
  if (proto.momentum() != 0) return refused(kMomentum);
  if (proto.weight_decay() != 0) return refused(kWeightDecay);
  if (proto.nesterov()) return refused(kNesterov);
  return absl::OkStatus();
}

absl::StatusOr<Optimizer> ReadOptimizer(const OptimizerProto& proto, const OpRegistry& registry) {
  RETURN_IF_ERROR(CheckForm(proto));
  Optimizer optimizer{proto.name(), {}, proto.clip_norm()};
  if (proto.name().empty()) {
    optimizer.attributes = {
        {kMomentum, proto.momentum()}, {kWeightDecay, proto.weight_decay()}, {kNesterov, proto.nesterov()}};
  } else {
    ASSIGN_OR_RETURN(optimizer.attributes, ReadAttributes(proto.attributes()));
  }
  return CompleteOptimizer(optimizer, registry.optimizers());
}

LearningRate ReadLearningRate(const LearningRateProto& proto) {
  return {proto.schedule(),    proto.base(),        proto.steps(), proto.warmup_steps(),
          proto.decay(),       proto.decay_steps(), proto.final(), proto.warmup().empty() ? "linear" : proto.warmup(),
          proto.decay_start(), proto.decay_times()};
}

// What must be there, so that a file that is cut short between two fields is refused.
absl::Status CheckComplete(const GraphProto& proto) {
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

absl::StatusOr<Model> ReadModel(const GraphProto& proto, const OpRegistry& registry) {
  RETURN_IF_ERROR(CheckComplete(proto));
  Model model;
  model.name = proto.name();
  model.learning_rate = ReadLearningRate(proto.learning_rate());
  ASSIGN_OR_RETURN(model.optimizer, ReadOptimizer(proto.optimizer(), registry));
  RETURN_IF_ERROR(VerifyLearningRate(model.learning_rate));
  ASSIGN_OR_RETURN(const std::vector<NodeDescription> nodes, ReadNodes(proto));
  ASSIGN_OR_RETURN(model.graph, BuildGraph(nodes, proto.loss(0), {proto.metrics().begin(), proto.metrics().end()},
                                           registry, ReadFurtherLosses(proto)));
  return model;
}

struct WriteValue {
  AttributeProto& proto;
  void operator()(bool value) { proto.set_boolean(value); }
  void operator()(int64_t value) { proto.set_integer(value); }
  void operator()(double value) { proto.set_number(value); }
  void operator()(const std::string& value) { proto.set_text(value); }
  void operator()(const IntList& value) {
    IntegersProto& integers = *proto.mutable_integers();
    for (int64_t number : value) integers.add_values(number);
  }
};

void WriteAttributes(const Attributes& attributes, AttributeProtos& protos) {
  for (const auto& [name, value] : attributes.entries()) {
    AttributeProto& attribute = *protos.Add();
    attribute.set_name(name);
    std::visit(WriteValue{attribute}, value);
  }
}

void WriteOptimizer(const Optimizer& optimizer, OptimizerProto& proto) {
  const Attributes& attributes = optimizer.attributes;
  proto.set_clip_norm(optimizer.clip_norm);
  if (optimizer.name.empty()) {
    if (attributes.Has(kMomentum)) proto.set_momentum(attributes.Float(kMomentum));
    if (attributes.Has(kWeightDecay)) proto.set_weight_decay(attributes.Float(kWeightDecay));
    if (attributes.Has(kNesterov)) proto.set_nesterov(attributes.Bool(kNesterov));
    return;
  }
  proto.set_name(optimizer.name);
  WriteAttributes(attributes, *proto.mutable_attributes());
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
  for (const NodeDescription& node : Describe(model.graph)) WriteNode(node, *proto.add_nodes());
  proto.add_loss(model.graph.value(model.graph.loss).name);
  for (const FurtherLossDescription& further : DescribeFurtherLosses(model.graph)) {
    FurtherLossProto& loss = *proto.add_further_losses();
    loss.set_value(further.value);
    loss.set_weight(further.weight);
    loss.set_training_only(further.training_only);
  }
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
