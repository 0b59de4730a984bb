#include "graph/proto_io/proto_io_optimizer.h"

#include "graph/proto_io/proto_io_attributes.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

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

absl::StatusOr<ParameterGroup> ReadGroup(const ParameterGroupProto& proto) {
  const std::string context = fmt::format("optimizer.groups {}", Quoted(proto.pattern()));
  ParameterGroup group;
  group.pattern = proto.pattern();
  if (proto.has_rate()) group.rate = proto.rate();
  if (proto.has_clip_norm()) group.clip_norm = proto.clip_norm();
  absl::StatusOr<Attributes> attributes = ReadAttributes(proto.attributes());
  if (!attributes.ok()) return WithContext(context, attributes.status());
  group.attributes = *std::move(attributes);
  if (!proto.has_weight_decay()) return group;
  if (group.attributes.Has(kWeightDecay)) {
    return InvalidArgument("{}: weight_decay is a field and an attribute; one of them is allowed", context);
  }
  group.attributes.Set(kWeightDecay, proto.weight_decay());
  return group;
}

void WriteGroup(const ParameterGroup& group, ParameterGroupProto& proto) {
  proto.set_pattern(group.pattern);
  if (group.rate != 1) proto.set_rate(group.rate);
  if (group.clip_norm) proto.set_clip_norm(*group.clip_norm);
  Attributes attributes = group.attributes;
  if (attributes.Has(kWeightDecay)) {
    proto.set_weight_decay(attributes.Float(kWeightDecay));
    attributes.Remove(kWeightDecay);
  }
  WriteAttributes(attributes, *proto.mutable_attributes());
}

void WriteAverage(const MovingAverage& average, AverageProto& proto) {
  proto.set_decay(average.decay);
  proto.set_pattern(average.pattern);
  proto.set_warmup(average.warmup);
}

}  // namespace

absl::StatusOr<Optimizer> ReadOptimizer(const OptimizerProto& proto, const OpRegistry& registry) {
  RETURN_IF_ERROR(CheckForm(proto));
  Optimizer optimizer{proto.name(), {}, proto.clip_norm()};
  if (proto.name().empty()) {
    optimizer.attributes = {
        {kMomentum, proto.momentum()}, {kWeightDecay, proto.weight_decay()}, {kNesterov, proto.nesterov()}};
  } else {
    ASSIGN_OR_RETURN(optimizer.attributes, ReadAttributes(proto.attributes()));
  }
  for (const ParameterGroupProto& group : proto.groups()) {
    ASSIGN_OR_RETURN(optimizer.groups.emplace_back(), ReadGroup(group));
  }
  if (proto.has_average()) {
    const AverageProto& average = proto.average();
    optimizer.average = {average.decay(), average.pattern().empty() ? "*" : average.pattern(), average.warmup()};
  }
  return CompleteOptimizer(optimizer, registry.optimizers());
}

void WriteOptimizer(const Optimizer& optimizer, OptimizerProto& proto) {
  const Attributes& attributes = optimizer.attributes;
  proto.set_clip_norm(optimizer.clip_norm);
  for (const ParameterGroup& group : optimizer.groups) WriteGroup(group, *proto.add_groups());
  if (optimizer.average) WriteAverage(*optimizer.average, *proto.mutable_average());
  if (optimizer.name.empty()) {
    if (attributes.Has(kMomentum)) proto.set_momentum(attributes.Float(kMomentum));
    if (attributes.Has(kWeightDecay)) proto.set_weight_decay(attributes.Float(kWeightDecay));
    if (attributes.Has(kNesterov)) proto.set_nesterov(attributes.Bool(kNesterov));
    return;
  }
  proto.set_name(optimizer.name);
  WriteAttributes(attributes, *proto.mutable_attributes());
}

}  // namespace partita
