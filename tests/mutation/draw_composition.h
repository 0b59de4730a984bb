// Random graphs over every op that users may write: the registry says which ops there are, the table of cases
// (tests/ops/op_cases.h) which attributes and shapes each takes. An op that is added to both is drawn from that day on.
#ifndef PARTITA_TESTS_MUTATION_DRAW_COMPOSITION_H_
#define PARTITA_TESTS_MUTATION_DRAW_COMPOSITION_H_

#include <set>
#include <string>

#include "tests/mutation/subject.h"

namespace partita {

// Ops of the registry that users may write and that compute something, but that have no case in the table. Must be
// empty.
std::set<std::string> OpsWithoutCase();

// One to five ops in a row or side by side, each of one of its cases. Their inputs are fields of the batch, parameters,
// states, or values of ops before them, which reshapes and products bring to the shape of the case. One to three
// losses, metrics, any optimizer; on one rank.
Subject DrawComposition(Dice& dice);

}  // namespace partita

#endif  // PARTITA_TESTS_MUTATION_DRAW_COMPOSITION_H_
