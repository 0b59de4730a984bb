// Small random networks, and ways to split them: what the shipped models do not have, in sizes that nothing divides.
#ifndef PARTITA_TESTS_MUTATION_DRAW_NETWORK_H_
#define PARTITA_TESTS_MUTATION_DRAW_NETWORK_H_

#include "absl/status/statusor.h"
#include "tests/mutation/subject.h"

namespace partita {

// Images or features, some layers of any kind in a row with branches between them, a product to classes and its loss;
// on one rank.
Subject DrawNetwork(Dice& dice);

// A mesh of up to 6 ranks, and a word about some nodes: splits that their ops have there, often with cuts. Much of it
// is legal.
Strategy DrawStrategy(const Subject& subject, Dice& dice);

// What flags make for it: any sizes, any split of layers.
absl::StatusOr<Strategy> DrawFlags(const Subject& subject, Dice& dice);

// The graph in text form, and the strategy as a file: to see a failing one again.
std::string ToText(const Subject& subject);

}  // namespace partita

#endif  // PARTITA_TESTS_MUTATION_DRAW_NETWORK_H_
