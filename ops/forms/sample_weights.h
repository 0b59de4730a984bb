// The weights of a batch's rows in an evaluation (graph/passes/prepare_evaluation.h).
#ifndef PARTITA_OPS_FORMS_SAMPLE_WEIGHTS_H_
#define PARTITA_OPS_FORMS_SAMPLE_WEIGHTS_H_

#include "graph/ir/op_definition.h"

namespace partita {

// One number for each element of the dimension of `value` that has the samples (EntryBuilder::SamplesOf): the weight of
// the element's sample. Nodes that need the same share what it appends, which belongs to no user's node: a strategy's
// words about one do not apply to it.
absl::StatusOr<ValueId> WeightsOfRows(EntryBuilder& builder, ValueId value, const SampleRows& samples);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_SAMPLE_WEIGHTS_H_
