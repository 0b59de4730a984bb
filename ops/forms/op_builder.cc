#include "ops/forms/op_builder.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// An element count that passes CheckedElements has sizes below 2^59, so sums of a few sizes cannot overflow.
absl::Status CheckType(const std::string& what, const TensorType& type) {
  if (type.shape.size() > kMaxRank) {
    return InvalidArgument("{} has {} dimensions; at most {} are allowed", what, type.shape.size(), kMaxRank);
  }
  for (const int64_t size : type.shape) {
    if (size < 1) return InvalidArgument("{} has shape {}; every size must be at least 1", what, ToString(type.shape));
  }
  return WithContext(what, CheckedElements(type.shape).status());
}

absl::Status CheckInputs(const OpDefinition& op, const NodeView& node) {
  const size_t declared = op.inputs.size();
  const bool enough = op.variadic ? node.inputs.size() >= declared : node.inputs.size() == declared;
  if (!enough) {
    return InvalidArgument("{} takes {}{} inputs; {} are given", op.name, op.variadic ? "at least " : "", declared,
                           node.inputs.size());
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const InputDefinition& input = op.inputs[std::min(i, declared - 1)];
    const std::string what = i < declared - (op.variadic ? 1 : 0) ? fmt::format("input {}", input.name)
                                                                  : fmt::format("input {}[{}]", input.name, i);
    if (node.inputs[i] == nullptr) {
      if (!input.optional) return InvalidArgument("{} of {} is missing", what, op.name);
      continue;
    }
    RETURN_IF_ERROR(CheckType(what, *node.inputs[i]));
  }
  return absl::OkStatus();
}

ShapeFunction GuardShape(OpDefinition op) {
  return [op = std::move(op)](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(CheckInputs(op, node));
    ASSIGN_OR_RETURN(std::vector<TensorType> outputs, op.shape(node));
    for (const TensorType& type : outputs) RETURN_IF_ERROR(CheckType("the output", type));
    return outputs;
  };
}

Gradient GuardGradient(Gradient gradient) {
  return [gradient = std::move(gradient)](GradientBuilder& builder, const Node& node,
                                          const std::vector<ValueId>& cotangents, const std::vector<bool>& wanted) {
    const Node copy = node;
    return gradient(builder, copy, cotangents, wanted);
  };
}

}  // namespace

Op::Op(std::string name) {
  definition_.name = std::move(name);
  definition_.rules = [](const NodeView&) { return std::vector<Rule>(); };
  definition_.flops = [](const NodeView&) { return 0.0; };
}

Op& Op::Inputs(const std::vector<std::string>& names) {
  for (const std::string& name : names) definition_.inputs.push_back({name, false, false});
  return *this;
}

Op& Op::Parameters(const std::vector<std::string>& names) {
  for (const std::string& name : names) definition_.inputs.push_back({name, false, true});
  return *this;
}

Op& Op::Optional(const std::string& name) {
  definition_.inputs.push_back({name, true, false});
  return *this;
}

Op& Op::Gate(const std::string& name) {
  Optional(name);
  definition_.inputs.back().gate = true;
  return *this;
}

Op& Op::Variadic(const std::string& name) {
  definition_.variadic = true;
  return Inputs({name});
}

Op& Op::Outputs(int count) {
  definition_.outputs = count;
  return *this;
}

Op& Op::Attribute(const std::string& name, partita::Attribute default_value) {
  definition_.attributes.push_back({name, std::move(default_value), false});
  return *this;
}

Op& Op::Required(const std::string& name, partita::Attribute type) {
  definition_.attributes.push_back({name, std::move(type), true});
  return *this;
}

Op& Op::OptionalAttribute(const std::string& name, partita::Attribute type) {
  definition_.attributes.push_back({name, std::move(type), false, true});
  return *this;
}

Op& Op::Internal() {
  definition_.user = false;
  return *this;
}

Op& Op::As(Role role) {
  definition_.role = role;
  return *this;
}

Op& Op::Shape(ShapeFunction shape) {
  definition_.shape = std::move(shape);
  return *this;
}

Op& Op::Rules(RulesFunction rules) {
  definition_.rules = std::move(rules);
  return *this;
}

Op& Op::Gradient(partita::Gradient gradient) {
  definition_.gradient = GuardGradient(std::move(gradient));
  return *this;
}

Op& Op::Flops(FlopsFunction flops) {
  definition_.flops = std::move(flops);
  return *this;
}

Op& Op::InPlace(int input, int output) {
  definition_.in_place.emplace_back(input, output);
  return *this;
}

Op& Op::Together(const std::vector<int>& shared_inputs) {
  definition_.together = shared_inputs;
  return *this;
}

Op& Op::MembersDiffer() {
  definition_.members_differ = true;
  return *this;
}

Op& Op::TakesBf16(int input) {
  definition_.takes_bf16 = input;
  return *this;
}

Op& Op::Rounds(int output) {
  definition_.rounds = output;
  return *this;
}

Op& Op::OneIfAbsent(int input) {
  definition_.one_if_absent = input;
  return *this;
}

Op& Op::Windowed(int input) {
  definition_.windowed = input;
  return *this;
}

Op& Op::View() {
  definition_.view = true;
  return *this;
}

Op& Op::Decomposes(Decomposition decomposition) {
  definition_.decomposition = std::move(decomposition);
  return *this;
}

Op& Op::Computes(Precision precision) {
  definition_.precision = precision;
  return *this;
}

InputDefinition& Op::Input(const std::string& name) {
  const auto input = std::ranges::find(definition_.inputs, name, &InputDefinition::name);
  CHECK(input != definition_.inputs.end());
  return *input;
}

Op& Op::Wide(const std::vector<std::string>& inputs) {
  for (const std::string& name : inputs) Input(name).wide = true;
  return *this;
}

Op& Op::Constant(const std::vector<std::string>& inputs) {
  for (const std::string& name : inputs) Input(name).constant = true;
  return *this;
}

Op& Op::Updates(const std::vector<std::string>& inputs) {
  for (const std::string& name : inputs) Input(name).updated = true;
  return Constant(inputs);
}

Op& Op::Classes(const std::string& input) {
  definition_.classes = static_cast<int>(&Input(input) - definition_.inputs.data());
  return *this;
}

Op& Op::MicroBatches(std::function<absl::Status(const NodeView&, int64_t)> check) {
  definition_.check_micro_batch = std::move(check);
  return *this;
}

Op& Op::InTraining(Preparation preparation) {
  definition_.in_training = std::move(preparation);
  return *this;
}

Op& Op::InEvaluation(Preparation preparation) {
  definition_.in_evaluation = std::move(preparation);
  return *this;
}

Op& Op::GradientOfTerms(std::function<bool(const NodeView&)> predicate) {
  definition_.gradient_of_terms = std::move(predicate);
  return *this;
}

Op::operator OpDefinition() const {
  OpDefinition guarded = definition_;
  guarded.shape = GuardShape(definition_);
  return guarded;
}

}  // namespace partita
