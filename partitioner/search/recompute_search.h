// Chooses the stretches of a network to recompute in the backward pass, so that less is kept from the forward pass
// (Chen et al. 2016). Only one value passes from one stretch to the next.
//
//   stretches   | 0 | 1 | 2 | 3 |
//   block 1..2      |=======|       keeps what 0 gives and what 2 gives, not what 1 gives nor what is inside of 1 and 2
#ifndef PARTITA_PARTITIONER_SEARCH_RECOMPUTE_SEARCH_H_
#define PARTITA_PARTITIONER_SEARCH_RECOMPUTE_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/answer.h"

namespace partita {

// Where all is kept.
struct RecomputeStretch {
  std::string name;
  double seconds = 0;       // of its forward pass
  double last_seconds = 0;  // of these, what is not computed again where it ends a block: only its output needs it
  int64_t inside = 0;       // bytes kept for the backward pass beside the output
  int64_t output = 0;       // bytes of the output
  // Bytes in use at most while it or its backward pass runs: until that needs what a block drops that ends here, and
  // else.
  int64_t before = 0, most = 0;
};

struct RecomputeTables {
  std::vector<RecomputeStretch> stretches;  // in the order of the forward pass; the backward pass has them reversed
  int64_t elsewhere = 0;                    // bytes in use, at most, while something else runs
};

// Stretches first..last, which are computed again together.
struct RecomputeRange {
  int first = 0, last = 0;
  bool operator==(const RecomputeRange&) const = default;
};
using RecomputePlan = std::vector<RecomputeRange>;  // rising, apart from each other

// What the plan costs, and the bytes in use at most: where a stretch has its turn, all blocks before that which it is
// part of are released, and that is there as a whole as soon as something of it is needed.
double RecomputeSeconds(const RecomputeTables& tables, const RecomputePlan& plan);
int64_t RecomputeBytes(const RecomputeTables& tables, const RecomputePlan& plan);

// The exact fastest plan within `bytes`. Extends partial plans from the first stretch to the last and drops those that
// release no more than a faster one. Above `most_kept` partial plans, some intermediate ones are dropped too, and the
// lower bound says how much that can cost. kResourceExhausted: no plan fits; names what the smallest needs. Takes time
// proportional to stretches^2 times the plans kept.
absl::StatusOr<Answer<RecomputePlan>> RecomputeSearch(const RecomputeTables& tables, int64_t bytes,
                                                      size_t most_kept = 4096);

// From the plan that computes nothing again to the one that needs least: each the quickest of those that need less than
// the one before, by one part in `most` of what there is to gain.
std::vector<Answer<RecomputePlan>> RecomputePlans(const RecomputeTables& tables, int most);

// All ways to choose blocks of this number of stretches: 89 for five, about 2.6 times as many for each further one.
std::vector<RecomputePlan> AllRecomputePlans(int stretches);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_RECOMPUTE_SEARCH_H_
