// Proves that the parts of what a computing node reads and writes meet, on every rank, as its op needs them.
//
//   over each axis of the mesh    all R, all At one coordinate, or as one of the op's rules says, windows included
//   over the axes of one rule     every value that the rule splits has the same number of units, and is cut between the
//                                 same ones (no two rules of an op split one dimension of a value:
//                                 tests/ops/rules_test.cc)
//
// It knows the rules and the meaning of layouts, but not how layouts are chosen, so it accepts values from any source.
// Blocks of windows may pass unchanged through an op that is linear in all of its inputs.
#ifndef PARTITA_GRAPH_VERIFY_VERIFY_OPERANDS_H_
#define PARTITA_GRAPH_VERIFY_VERIFY_OPERANDS_H_

#include "absl/status/status.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Of a node with inputs whose values have layouts that fit their shapes (CheckLayout), all on one mesh. kInternal says
// which axis or which two values do not fit; the caller knows the node.
absl::Status VerifyOperands(const Graph& graph, const Node& node);

}  // namespace partita

#endif  // PARTITA_GRAPH_VERIFY_VERIFY_OPERANDS_H_
