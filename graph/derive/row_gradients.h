// Gradients of tables of which a step reads few rows: ids and rows instead of a tensor as large as the table.
//
//   before   %t@d = embedding_grad(_, %ids, %dy) rows=9000 row_gradients=true {data:P}
//            %t@d@all_reduce = all_reduce(%t@d) {data:R}
//   after    %ids@all_gather, %dy@all_gather {data:R}
//            %t@rows@ids, %t@rows = merge_rows(%ids@all_gather, %dy@all_gather) padding_rows=[-1]
//
// Ids and rows are values like any other, and resolved by the rule of every cotangent, to where the table lies: what is
// split by samples is gathered, what is P is added up, over channels rows stay split as the table is; ids are whole. No
// node reads the dense gradient then, so it is dropped. Several embeddings of one table, and micro-batches, are one
// list.
#ifndef PARTITA_GRAPH_DERIVE_ROW_GRADIENTS_H_
#define PARTITA_GRAPH_DERIVE_ROW_GRADIENTS_H_

#include <map>

#include "absl/status/statusor.h"
#include "graph/derive/adjoint.h"
#include "graph/derive/layout_builder.h"

namespace partita {

// Merged: ids [k] that rise, -1 behind the last one, and rows [k,e].
struct RowGradient {
  ValueId ids = kNoValue, rows = kNoValue;
};

// Of those of `gradients`, which AppendAdjoint gave, whose table gradients ask for it (attribute `row_gradients`).
// kInvalidArgument: something else adds to such a gradient, or `updates` wants it where the table does not lie.
absl::StatusOr<std::map<ValueId, RowGradient>> AppendRowGradients(LayoutBuilder& builder,
                                                                  const std::map<ValueId, ValueId>& gradients,
                                                                  const UpdateLayouts& updates);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_ROW_GRADIENTS_H_
