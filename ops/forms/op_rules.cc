#include "ops/forms/op_rules.h"

#include "runtime/base/status.h"

namespace partita {

std::string DimensionName(int rank, int dimension) {
  if (dimension == 0) return "samples";
  if (dimension == rank - 1) return "channels";
  if (rank == 4) return dimension == 1 ? "height" : "width";
  return fmt::format("dimension{}", dimension);
}

std::vector<Rule> EveryDimension(int rank, const std::vector<bool>& follows, int outputs) {
  std::vector<Rule> rules;
  rules.reserve(rank);
  for (int d = 0; d < rank; ++d) {
    Rule rule;
    rule.name = DimensionName(rank, d);
    rule.inputs.reserve(follows.size());
    for (const bool follow : follows) rule.inputs.push_back(follow ? S(d) : R());
    rule.outputs.assign(outputs, S(d));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Rule Partial(std::vector<Pattern> inputs) { return {"partial", std::move(inputs), {P()}}; }

double Count(const Shape& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

absl::StatusOr<ValueId> AddOne(GradientBuilder& builder, const std::string& op, std::vector<ValueId> inputs,
                               Attributes attributes, const std::string& base) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, builder.Add(op, std::move(inputs), std::move(attributes), base));
  CHECK(outputs.size() == 1);
  return outputs[0];
}

std::string InputName(const GradientBuilder& builder, const Node& node, int index) {
  return builder.graph().value(node.inputs[index]).name;
}

Shape InputShape(const GradientBuilder& builder, const Node& node, int index) {
  return builder.graph().type(node.inputs[index]).shape;
}

Attributes WithShape(const Node& node, const Shape& shape) {
  Attributes attributes = node.attributes;
  attributes.Set("shape", shape);
  return attributes;
}

}  // namespace partita
