// Checks which of its own inputs a launch may overwrite.
#ifndef PARTITA_GRAPH_PROVE_OPERANDS_APART_H_
#define PARTITA_GRAPH_PROVE_OPERANDS_APART_H_

#include "absl/status/status.h"
#include "graph/schedule/schedule.h"

namespace partita {

// No byte of a launch is written as two tensors, and none is read that it writes but where its work may be in place:
// - a kernel's output in the place of an input, both all of it, where the op says so of every input that lies there
//   (OpDefinition::in_place);
// - the output of an all_reduce or a reduce in the place of its input, member by member of a bucket.
// kInternal names the launch and both tensors. n log n in the launch's operands.
absl::Status CheckOperandsApart(const Schedule& schedule, int launch);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROVE_OPERANDS_APART_H_
