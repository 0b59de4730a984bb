#include "tools/benchmarks/oracle/oracle_options.h"

#include <algorithm>
#include <cmath>

namespace partita {
namespace {

constexpr double kSecondsOfRound = 1;
constexpr double kFewest = 10, kMost = 2000;

}  // namespace

int64_t StepsOfRound(const OracleOptions& options, double step_seconds) {
  if (options.steps > 0) return options.steps;
  return static_cast<int64_t>(std::clamp(std::ceil(kSecondsOfRound / step_seconds), kFewest, kMost));
}

Turns TurnsOf(int64_t steps, int64_t most) {
  const int64_t of_turn = (steps + most - 1) / most;
  return {(steps + of_turn - 1) / of_turn, of_turn};
}

}  // namespace partita
