// What becomes of a mutated subject.
#ifndef PARTITA_TESTS_MUTATION_JUDGE_H_
#define PARTITA_TESTS_MUTATION_JUDGE_H_

#include <string>

#include "tests/mutation/subject.h"

namespace partita {

enum class Outcome {
  kRefused,  // with a diagnostic, before anything ran
  kStopped,  // both runs end in the same step with the same kind of error: a label that is no class, a loss of infinity
  kRan,      // equal to the serial run
  kPlanned,  // valid, and too large to be run here
  kWrong,    // none of this: a fault of Partita
};

struct Verdict {
  Outcome outcome = Outcome::kWrong;
  std::string why;  // the diagnostic, or what differs
};

// With `fuse` the nodes that can be joined are.
Verdict Judge(const Subject& subject, bool fuse = false);

}  // namespace partita

#endif  // PARTITA_TESTS_MUTATION_JUDGE_H_
