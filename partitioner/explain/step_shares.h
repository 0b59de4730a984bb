// Breaks down the time of a simulated step, rank by rank.
//
//   communication   ---aabb--bbb----      step 16: computing 9, of what nothing hides: waiting (a) 1, bytes on their
//   computing       CCCC--CCC--CC---      way (b) 3; idle 3, for others end later
#ifndef PARTITA_PARTITIONER_EXPLAIN_STEP_SHARES_H_
#define PARTITA_PARTITIONER_EXPLAIN_STEP_SHARES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "partitioner/explain/arrivals.h"

namespace partita {

// Nanoseconds, each moment of a rank counted once: they add up to the step exactly.
struct StepShares {
  int64_t compute_ns = 0;   // a kernel or a copy runs
  int64_t transfer_ns = 0;  // none does, and a collective moves its bytes
  int64_t waiting_ns = 0;   // none does, and a collective waits for ranks that come later
  int64_t idle_ns = 0;      // nothing runs

  int64_t sum_ns() const { return compute_ns + transfer_ns + waiting_ns + idle_ns; }
  bool operator==(const StepShares&) const = default;
};

// Of ranks that do the same at the same times.
struct ClassShares {
  std::vector<int> ranks;
  StepShares shares;  // of each
};

// Of a collective while nothing is computed: sums over all ranks and groups that have it.
struct CollectiveShares {
  std::string name;  // of the launch
  NodeId node = -1;  // in the entry point's graph
  int64_t transfer_ns = 0, waiting_ns = 0;

  int64_t exposed_ns() const { return transfer_ns + waiting_ns; }
};

struct TimeOfStep {
  int64_t step_ns = 0;                        // until the last rank has ended
  std::vector<ClassShares> classes;           // in the order of their first ranks
  StepShares all;                             // sums over ranks: as many steps as there are ranks
  std::vector<CollectiveShares> collectives;  // the most exposed first; they add up to transfer and waiting of `all`
};

// `arrivals`: of the same step.
TimeOfStep SharesOf(const SimulatedStep& step, const Arrivals& arrivals);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_STEP_SHARES_H_
