// Of rows that ids choose, ids [n] or [n,t] and rows [n,e] or [n,t,e], one row for each id: the sum of all rows with
// that id, in their order. Several pairs are one list: merge_rows(ids, rows, ids, rows, ...).
//
//   merge_rows(ids, rows, ...) padding_rows    ids [k], rows [k,e], with k = all ids there are
//
// Ids rise; behind the last one they are -1 and rows are zeros, so that sizes do not depend on the data. An id that is
// its pair's padding row is left out (-1: none is).
#include "ops/definitions/rows/row_definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckPair(const NodeView& node, int pair) {
  const int ids = 2 * pair, rows = ids + 1;
  if (node.inputs[ids] == nullptr || node.inputs[rows] == nullptr) {
    return InvalidArgument("pair {} lacks its ids or its rows", pair);
  }
  RETURN_IF_ERROR(CheckFloating(node, rows, "rows"));
  RETURN_IF_ERROR(CheckRank(node, rows, "rows", {2, 3}, "[n,e] or [n,t,e]"));
  RETURN_IF_ERROR(CheckDType(node, ids, "ids", DType::kI32));
  return CheckShape(node, ids, "ids", RowsOf(node.inputs[rows]->shape), "one for each row");
}

absl::StatusOr<std::vector<TensorType>> MergeRowsShape(const NodeView& node) {
  const int pairs = static_cast<int>(node.inputs.size()) / 2;
  if (node.inputs.size() % 2 != 0) return InvalidArgument("{} inputs are no pairs of ids and rows", node.inputs.size());
  RETURN_IF_ERROR(CheckInts(node.attributes, "padding_rows", static_cast<size_t>(pairs), -1));
  int64_t count = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    RETURN_IF_ERROR(CheckPair(node, pair));
    const TensorType &first = *node.inputs[1], &rows = *node.inputs[2 * pair + 1];
    if (rows.dtype != first.dtype || rows.shape.back() != first.shape.back()) {
      return InvalidArgument("rows of pair {} are {}{}; {} numbers of {} are needed, as of the first", pair,
                             Name(rows.dtype), ToString(rows.shape), first.shape.back(), Name(first.dtype));
    }
    if (__builtin_add_overflow(count, Elements(node.inputs[2 * pair]->shape), &count)) {
      return InvalidArgument("there are more ids than can be counted");
    }
  }
  const TensorType& rows = *node.inputs[1];
  return std::vector<TensorType>{{DType::kI32, {count}}, {rows.dtype, {count, rows.shape.back()}}};
}

std::vector<Rule> MergeRowsRules(const NodeView& node) {
  Rule channels{"channels", {}, {R(), S(1)}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int last = node.inputs[i] == nullptr ? 0 : static_cast<int>(node.inputs[i]->shape.size()) - 1;
    channels.inputs.push_back(i % 2 == 0 ? R() : S(last));
  }
  return {channels};
}

}  // namespace

OpDefinition MergeRowsOp() {
  return Op("merge_rows")
      .Internal()
      .As(Role::kMergeRows)
      .Inputs({"ids"})
      .Variadic("rows")
      .Outputs(2)
      .Required("padding_rows", IntList())
      .Shape(MergeRowsShape)
      .Rules(MergeRowsRules)
      .Flops([](const NodeView& node) { return Count(node.outputs[1].shape); });
}

}  // namespace partita
