// Joins all_reduces of one group of axes into buckets, so that latency is paid once for many small gradients.
//
//   before   %a.r = all_reduce(%a) axes=data   %b = ...   %b.r = all_reduce(%b) axes=data
//   after    %b = ...   %a.r, %b.r = all_reduce(%a, %b) axes=data
//
// A bucket is closed when it holds `bytes`, or when a node reads one of its results. A bucket of the update phase
// (norms) is closed by a reader alone, since no computation hides it. What the backward pass waits for (sums of batch
// norm) and what the update alone reads (gradients) never share a bucket: gradients travel while the backward pass
// continues, and must not delay a sum that it waits for. For the same reason a full bucket of gradients may move behind
// one of the next three awaited moves, because all collectives of a rank form one chain. It moves if more computation
// follows that move, up to the next awaited one, than precedes the first. The pass treats the moves of every
// communicator alike. The payload is exactly the sum of the members.
#ifndef PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_
#define PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_

#include <cstdint>

#include "graph/ir/graph.h"

namespace partita {

// `bytes` of a rank's buffer; 0: every all_reduce stays alone, and where it is.
Graph BucketAllReduces(const Graph& graph, int64_t bytes);

// The bucket size at which latency (seconds per collective) is a tenth of the time of the transfer. If the gradients
// are few, the size is smaller, so that they make eight buckets: no computation hides the last one. The size never
// falls below the one at which latency equals the transfer time.
int64_t BucketBytes(const Graph& graph, double latency, double bytes_per_second);

// The same where neither is known: gradients make eight buckets.
int64_t BucketBytes(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_
