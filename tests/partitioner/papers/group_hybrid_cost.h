// The communication of a step of G groups of m workers, in closed form: after G. Joo, C.-H. Youn (docs/papers.md 3.2).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_GROUP_HYBRID_COST_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_GROUP_HYBRID_COST_H_

#include <cstdint>
#include <vector>

#include "partitioner/cost/collective_cost.h"
#include "tests/partitioner/papers/layers.h"

namespace partita {

struct GroupHybridCost {
  double convolutions = 0;  // seconds: the all_reduce of their gradients among all workers
  double dense = 0;         // of gradients of dense layers among the groups
  double activations = 0;   // within a group
  double weight_bytes = 0;  // that a worker holds

  double seconds() const { return convolutions + dense + activations; }
};

// Weights with biases, of 4 bytes. Each layer before the dense ones pays the latency of its all_reduce, pools as well.
GroupHybridCost CostOfGroups(const std::vector<Layer>& layers, int groups, int members, int64_t batch,
                             const AlphaBeta& link);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_GROUP_HYBRID_COST_H_
