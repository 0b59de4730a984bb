// Updates of the rows of a table that merged ids choose (merge_rows.cc), in place: what the update of that name without
// `_rows` does to elements happens to these rows alone.
//   w', slots'... = update_rows(w, ids, rows, slots..., rate, apply?, clip?, iteration if it counts steps)
// Of a table that is split by rows a rank updates those that it holds. The outputs are what w and the slots were if
// apply is 0.
#include "ops/functors/updates/row_updates.h"

#include "ops/definitions/rows/row_definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

template <typename F>
absl::StatusOr<std::vector<TensorType>> RowUpdateShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "w"));
  RETURN_IF_ERROR(CheckRank(node, 0, "w", {2}, "[rows,channels]"));
  RETURN_IF_ERROR(CheckDType(node, 1, "ids", DType::kI32));
  RETURN_IF_ERROR(CheckRank(node, 1, "ids", {1}, "[k]"));
  const Shape& w = node.inputs[0]->shape;
  RETURN_IF_ERROR(CheckLike(node, 2, "rows", {node.inputs[1]->shape[0], w[1]}, "a row of w for each id"));
  int input = 3;
  for (const UpdateSlot& slot : F::kSlots) RETURN_IF_ERROR(CheckLike(node, input++, slot.name, w, "the same as w"));
  RETURN_IF_ERROR(CheckLike(node, input++, "rate", {}, "a scalar"));
  RETURN_IF_ERROR(CheckApply(node, input++));
  RETURN_IF_ERROR(CheckLike(node, input++, "clip", {}, "a scalar"));
  if (F::kCountsSteps) {
    RETURN_IF_ERROR(CheckDType(node, input, "iteration", DType::kI32));
    RETURN_IF_ERROR(CheckShape(node, input, "iteration", {}, "a scalar"));
  }
  for (const UpdateAttribute<F>& a : F::kAttributes) {
    RETURN_IF_ERROR(CheckNumber(node.attributes, a.name, a.least, a.below));
  }
  RETURN_IF_ERROR(CheckNumber(node.attributes, kRateFactor, 0));
  return std::vector<TensorType>(1 + F::kSlots.size(), *node.inputs[0]);
}

// By its rows, of which each rank has all that are merged, and by channels.
template <typename F>
std::vector<Rule> RowUpdateRules(const NodeView& node) {
  std::vector<Rule> rules;
  for (int d = 0; d < 2; ++d) {
    Rule rule{fmt::format("dimension{}", d), {S(d), R(), d == 0 ? R() : S(1)}, {S(d)}};
    for (size_t s = 0; s < F::kSlots.size(); ++s) {
      rule.inputs.push_back(S(d));
      rule.outputs.push_back(S(d));
    }
    rule.inputs.resize(node.inputs.size(), R());
    rules.push_back(std::move(rule));
  }
  return rules;
}

template <typename F>
OpDefinition RowUpdateOp() {
  Op op(RowUpdateName<F>());
  op.Internal().Inputs({"w", "ids", "rows"}).Outputs(1 + static_cast<int>(F::kSlots.size())).InPlace(0, 0);
  for (size_t s = 0; s < F::kSlots.size(); ++s) {
    op.Inputs({F::kSlots[s].name}).InPlace(3 + static_cast<int>(s), 1 + static_cast<int>(s));
  }
  op.Inputs({"rate"}).Gate("apply").Optional("clip");
  if (F::kCountsSteps) op.Inputs({"iteration"});
  op.Attribute(kRateFactor, 1.0);
  for (const UpdateAttribute<F>& a : F::kAttributes) op.Attribute(a.name, a.value);
  return op.Shape(RowUpdateShape<F>).Rules(RowUpdateRules<F>).Flops([](const NodeView& node) {
    return F::kFlops * Count(node.inputs[2]->shape);
  });
}

}  // namespace

std::vector<OpDefinition> RowUpdateOps() {
  std::vector<OpDefinition> ops;
#define PARTITA_ADD(F) ops.push_back(RowUpdateOp<F>());
  PARTITA_ROW_UPDATES(PARTITA_ADD)
#undef PARTITA_ADD
  return ops;
}

}  // namespace partita
