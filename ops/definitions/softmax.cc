// Along the last dimension of x [n,c], [n,t,c] or [n,h,w,c], of each row by itself; computed with the row's maximum
// taken off.
//
//   softmax(x)             y[i,c] = exp(x[i,c]) / sum over k of exp(x[i,k])
//   softmax_grad(y, dy)    y (dy - sum over k of y[i,k] dy[i,k])
//
//   log_softmax(x)             y[i,c] = x[i,c] - log sum over k of exp(x[i,k])
//   log_softmax_grad(y, dy)    dy - exp(y) sum over k of dy[i,k]
//
// Where a strategy splits the classes, they are made of the ops of split_softmax.cc.
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using enum RowPart;

int Rank(const NodeView& node) { return static_cast<int>(node.inputs[0]->shape.size()); }

ShapeFunction ShapeOf(const std::string& name) {
  return [name](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(CheckRows(node, 0, name));
    if (node.inputs.size() > 1) RETURN_IF_ERROR(CheckLike(node, 1, "dy", node.inputs[0]->shape, "the same as y"));
    return std::vector<TensorType>{*node.inputs[0]};
  };
}

// By the op `<name>_grad` of the result.
absl::StatusOr<std::vector<ValueId>> GradientByResult(GradientBuilder& builder, const Node& node,
                                                      const std::vector<ValueId>& cotangents,
                                                      const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, node.op->name + "_grad", {node.outputs[0], cotangents[0]}, {},
                                            InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

double Cost(const NodeView& node) { return 4 * Count(node.inputs[0]->shape); }

Op Forward(const std::string& name) {
  return Op(name)
      .Inputs({"x"})
      .Classes("x")
      .Shape(ShapeOf("x"))
      .Rules([](const NodeView& node) { return RowRules(Rank(node), {kElements}, {kElements}); })
      .Gradient(GradientByResult)
      .Decomposes(SoftmaxPieces(name + "_normalize"))
      .Flops(Cost);
}

Op Backward(const std::string& name) {
  return Op(name)
      .Internal()
      .Inputs({"y", "dy"})
      .Shape(ShapeOf("y"))
      .Rules([](const NodeView& node) {
        return RowRules(Rank(node), {kElements, kElements}, {kElements});
      })
      .Flops(Cost);
}

}  // namespace

OpDefinition SoftmaxOp() { return Forward("softmax").InPlace(0, 0); }
OpDefinition SoftmaxGradOp() { return Backward("softmax_grad").InPlace(1, 0); }
OpDefinition LogSoftmaxOp() { return Forward("log_softmax"); }
OpDefinition LogSoftmaxGradOp() { return Backward("log_softmax_grad"); }

}  // namespace partita
