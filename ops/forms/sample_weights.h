// The weights of a batch's rows in an evaluation (graph/passes/prepare_evaluation.h).
#ifndef PARTITA_OPS_FORMS_SAMPLE_WEIGHTS_H_
#define PARTITA_OPS_FORMS_SAMPLE_WEIGHTS_H_

#include <cstdint>

#include "graph/ir/op_definition.h"

namespace partita {

// One number for each row of `value`, which has `rows_of_sample` consecutive rows of each sample
// (EntryBuilder::RowsOfASample): the weight of the row's sample. Nodes that need the same share what it appends, which
// belongs to no user's node: a strategy's words about one do not apply to it.
absl::StatusOr<ValueId> WeightsOfRows(EntryBuilder& builder, ValueId value, int64_t rows_of_sample);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_SAMPLE_WEIGHTS_H_
