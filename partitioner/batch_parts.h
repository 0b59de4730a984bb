// Into how many micro-batches a plan may cut the batch.
#ifndef PARTITA_PARTITIONER_BATCH_PARTS_H_
#define PARTITA_PARTITIONER_BATCH_PARTS_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace partita {

// Rising from 1: numbers that divide the batch of a forward graph and leave each of `data` replicas a sample of each
// part, at most 64: with more, launches are so small that no search chooses them. Does not check whether every op can
// be computed in that many parts.
std::vector<int64_t> BatchParts(const Graph& forward, int data = 1);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_BATCH_PARTS_H_
