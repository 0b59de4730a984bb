// y[i,c] = x[i,c] - log sum over k of exp(x[i,k]), for x [n,c]; computed with the row's maximum taken off.
//
//   log_softmax_grad(y, dy)    dy - exp(y) sum over k of dy[i,k]
//
// Where a strategy splits the classes, it is made of the ops of split_softmax.cc.
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

ShapeFunction RowsOf(const std::string& name) {
  return [name](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(CheckFloating(node, 0, name));
    RETURN_IF_ERROR(CheckRank(node, 0, name, {2}, "[n,c]"));
    if (node.inputs.size() > 1) RETURN_IF_ERROR(CheckLike(node, 1, "dy", node.inputs[0]->shape, "the same as y"));
    return std::vector<TensorType>{*node.inputs[0]};
  };
}

absl::StatusOr<std::vector<ValueId>> LogSoftmaxGradient(GradientBuilder& builder, const Node& node,
                                                        const std::vector<ValueId>& cotangents,
                                                        const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, "log_softmax_grad", {node.outputs[0], cotangents[0]}, {},
                                            InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

double Cost(const NodeView& node) { return 4 * Count(node.inputs[0]->shape); }

}  // namespace

OpDefinition LogSoftmaxOp() {
  return Op("log_softmax")
      .Inputs({"x"})
      .Classes("x")
      .Shape(RowsOf("x"))
      .Rules([](const NodeView&) {
        return std::vector<Rule>{{"samples", {S(0)}, {S(0)}}};
      })
      .Gradient(LogSoftmaxGradient)
      .Decomposes(SoftmaxPieces("log_softmax_normalize"))
      .Flops(Cost);
}

OpDefinition LogSoftmaxGradOp() {
  return Op("log_softmax_grad")
      .Internal()
      .Inputs({"y", "dy"})
      .Shape(RowsOf("y"))
      .Rules([](const NodeView&) {
        return std::vector<Rule>{{"samples", {S(0), S(0)}, {S(0)}}};
      })
      .Flops(Cost);
}

}  // namespace partita
