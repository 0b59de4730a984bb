// Random changes of a subject, some of which leave it valid.
#ifndef PARTITA_TESTS_MUTATION_MUTATIONS_H_
#define PARTITA_TESTS_MUTATION_MUTATIONS_H_

#include <string>

#include "tests/mutation/subject.h"

namespace partita {

// Makes one change and says which: "conv1: stride = [0,1]".
std::string Mutate(Subject& subject, Dice& dice);

}  // namespace partita

#endif  // PARTITA_TESTS_MUTATION_MUTATIONS_H_
