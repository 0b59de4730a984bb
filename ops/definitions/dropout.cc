// y = x / (1 - rate) where the element is kept, else 0. It is kept if u >= rate, with
//   u = Uniform(PhiloxKey(seed, key), iteration, global element index)
// so the mask is the same however x is split; of a micro-batch, `first_sample` is its place in the batch. `key` is the
// name of the forward node; the gradient is the same op with the same key on the cotangent. A user writes neither key
// nor iteration: training fills them in, evaluation drops nothing.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> DropoutShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckNumber(node.attributes, "rate", 0, 1));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "first_sample", 0));
  if (node.inputs[1] != nullptr) {
    RETURN_IF_ERROR(CheckDType(node, 1, "iteration", DType::kI32));
    RETURN_IF_ERROR(CheckShape(node, 1, "iteration", {}, "the step's number"));
  }
  return std::vector<TensorType>{*node.inputs[0]};
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

absl::StatusOr<std::vector<ValueId>> DropoutInTraining(EntryBuilder& builder, const Node& node,
                                                       const std::string& name) {
  Attributes attributes = node.attributes;
  attributes.Set("key", name);
  return builder.Add("dropout", {node.inputs[0], builder.iteration()}, std::move(attributes), {name});
}

absl::StatusOr<std::vector<ValueId>> NothingDropped(EntryBuilder&, const Node& node, const std::string&) {
  return std::vector<ValueId>{node.inputs[0]};
}

}  // namespace

OpDefinition DropoutOp() {
  return Op("dropout")
      .Inputs({"x"})
      .Optional("iteration")
      .Required("rate", 0.0)
      .Attribute("key", "")
      .Attribute("first_sample", int64_t{0})
      .Shape(DropoutShape)
      .Rules([](const NodeView& node) {
        return EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), {true, false});
      })
      .Gradient(DropoutGradient)
      .InTraining(DropoutInTraining)
      .InEvaluation(NothingDropped)
      .Computes(Precision::kFollows)
      .Flops([](const NodeView& node) { return 2 * Count(node.inputs[0]->shape); })
      .InPlace(0, 0);
}

}  // namespace partita
