// The options of `benchmark oracle`.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_OPTIONS_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace partita {

struct OracleOptions {
  int most_ranks = 4;   // of 1, 2, 4
  int64_t rounds = 15;  // in which all cases are run in turns
  int64_t steps = 0;    // of a case in a round; 0: StepsOfRound
  // Reports the next activity to the user.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// The number of steps that last a second together, from the time of one; at least 10. If ranks share cores, wake-up
// times vary from step to step by more than anything measured here, so a few steps prove nothing.
int64_t StepsOfRound(const OracleOptions& options, double step_seconds);

// What else a machine does comes and goes within seconds: what is compared takes turns in a round, of a few steps each.
struct Turns {
  int64_t count = 1;  // of a round
  int64_t steps = 1;  // of a turn
};
// At most `most` turns of at least one step each, with at least this number of steps in all.
Turns TurnsOf(int64_t steps, int64_t most);

// Of the median: where what predictions are of measurements spreads more over the middle half of the rounds, the
// machine does something else as well, and nothing is said of an error.
inline constexpr double kMostSpread = 0.05;

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_OPTIONS_H_
