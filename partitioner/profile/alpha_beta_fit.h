// Fits the cost of a message to measurements: seconds = alpha + beta bytes.
#ifndef PARTITA_PARTITIONER_PROFILE_ALPHA_BETA_FIT_H_
#define PARTITA_PARTITIONER_PROFILE_ALPHA_BETA_FIT_H_

#include <vector>

#include "partitioner/cost/collective_cost.h"

namespace partita {

struct TimedBytes {
  double bytes = 0;
  double seconds = 0;  // greater than 0
};

struct AlphaBetaFit {
  AlphaBeta cost;
  double r_squared = 0;  // 1: every time lies on the line
};

// With the least sum of squared relative errors, so that small messages, which are alpha, count as much as large ones;
// neither number is below 0. r_squared is of the same weighted squares, against their weighted mean. At least two
// sizes (CHECKed).
AlphaBetaFit FitAlphaBeta(const std::vector<TimedBytes>& samples);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_ALPHA_BETA_FIT_H_
