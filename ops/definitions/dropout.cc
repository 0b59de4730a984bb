// Ops that draw random numbers, u = Uniform(PhiloxKey(seed, key), iteration, global element index), so they are the
// same however x is split; of a micro-batch, `first_sample` is its place in the batch. `key` is the name of the forward
// node. A user writes neither key nor iteration: training fills them in.
//
//   dropout(x) rate         x / (1 - rate) where u >= rate, else 0. The gradient is the same op with the same key.
//                           Evaluation drops nothing
//   noise(x) distribution   u (uniform), or a normal number of mean 0 and variance 1 (normal), in the shape of x, from
//                           which no gradient flows. Evaluation draws those of step 0
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> DrawnShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "first_sample", 0));
  if (node.inputs[1] != nullptr) {
    RETURN_IF_ERROR(CheckDType(node, 1, "iteration", DType::kI32));
    RETURN_IF_ERROR(CheckShape(node, 1, "iteration", {}, "the step's number"));
  }
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> DropoutShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNumber(node.attributes, "rate", 0, 1));
  return DrawnShape(node);
}

absl::StatusOr<std::vector<TensorType>> NoiseShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckChoice(node.attributes, "distribution", {"normal", "uniform"}));
  return DrawnShape(node);
}

absl::StatusOr<std::vector<ValueId>> DropoutGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (!wanted[0]) return result;
  Attributes attributes = node.attributes;
  if (attributes.String("key").empty()) attributes.Set("key", builder.graph().value(node.outputs[0]).name);
  ASSIGN_OR_RETURN(result[0], AddOne(builder, "dropout", {cotangents[0], node.inputs[1]}, std::move(attributes),
                                     InputName(builder, node, 0)));
  return result;
}

absl::StatusOr<std::vector<ValueId>> DrawnInTraining(EntryBuilder& builder, const Node& node, const std::string& name) {
  Attributes attributes = node.attributes;
  attributes.Set("key", name);
  return builder.Add(node.op->name, {node.inputs[0], builder.iteration()}, std::move(attributes), {name});
}

absl::StatusOr<std::vector<ValueId>> DrawnInEvaluation(EntryBuilder& builder, const Node& node,
                                                       const std::string& name) {
  Attributes attributes = node.attributes;
  attributes.Set("key", name);
  return builder.Add(node.op->name, {node.inputs[0], kNoValue}, std::move(attributes), {name});
}

absl::StatusOr<std::vector<ValueId>> NothingDropped(EntryBuilder&, const Node& node, const std::string&) {
  return std::vector<ValueId>{node.inputs[0]};
}

Op Drawing(const std::string& name) {
  return Op(name)
      .Inputs({"x"})
      .Optional("iteration")
      .Attribute("key", "")
      .Attribute("first_sample", int64_t{0})
      .Rules([](const NodeView& node) {
        return EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), {true, false});
      })
      .InTraining(DrawnInTraining)
      .Computes(Precision::kFollows)
      .InPlace(0, 0);
}

}  // namespace

OpDefinition DropoutOp() {
  return Drawing("dropout")
      .Required("rate", 0.0)
      .Shape(DropoutShape)
      .Gradient(DropoutGradient)
      .InEvaluation(NothingDropped)
      .Flops([](const NodeView& node) { return 2 * Count(node.inputs[0]->shape); });
}

OpDefinition NoiseOp() {
  return Drawing("noise")
      .Required("distribution", "")
      .Constant({"x"})
      .Shape(NoiseShape)
      .InEvaluation(DrawnInEvaluation)
      .Flops([](const NodeView& node) { return 20 * Count(node.inputs[0]->shape); });
}

}  // namespace partita
