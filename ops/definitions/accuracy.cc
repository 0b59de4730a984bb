// 1/n sum over i of weight_i * [argmax over c of logits[i,c] == label_i]; of equal logits the lowest class wins; n is
// the number of samples of the global batch: `batch`, or if that is 0 the rows of logits.
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> AccuracyShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckClassifier(node));
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

}  // namespace

OpDefinition AccuracyOp() {
  return Op("accuracy")
      .As(Role::kAccuracy)
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Classes("logits")
      .InEvaluation(WithSampleWeight)
      .Attribute("batch", int64_t{0})
      .Shape(AccuracyShape)
      .Rules([](const NodeView&) { return std::vector<Rule>{SamplesToScalar()}; })
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

}  // namespace partita
