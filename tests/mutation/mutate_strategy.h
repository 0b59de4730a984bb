// Random changes of a subject's strategy.
#ifndef PARTITA_TESTS_MUTATION_MUTATE_STRATEGY_H_
#define PARTITA_TESTS_MUTATION_MUTATE_STRATEGY_H_

#include <string>

#include "tests/mutation/subject.h"

namespace partita {

// Makes one change and says which; "nothing" if this strategy has nothing of the kind.
std::string MutateStrategy(Subject& subject, Dice& dice);

}  // namespace partita

#endif  // PARTITA_TESTS_MUTATION_MUTATE_STRATEGY_H_
