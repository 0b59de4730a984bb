// apply = all_finite(loss, sum_of_squares?): i32[], 1 if neither is NaN or infinite, else 0. It is what gates every
// update of a state (docs/design.md 5.24); the same on all ranks: no split. A launch of it may make the learning rate
// and the next step's number as well (graph/lower/join_scalars.h).
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> ApplyShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "loss"));
  RETURN_IF_ERROR(CheckShape(node, 0, "loss", {}, "a scalar"));
  RETURN_IF_ERROR(CheckLike(node, 1, "sum_of_squares", {}, "a scalar"));
  return std::vector<TensorType>{{DType::kI32, {}}};
}

}  // namespace

OpDefinition AllFiniteOp() {
  return Op("all_finite").As(Role::kAllFinite).Internal().Inputs({"loss"}).Optional("sum_of_squares").Shape(ApplyShape);
}

}  // namespace partita
