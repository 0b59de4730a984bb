// Joins all_reduces of one group of axes into buckets, so that latency is paid once for many small gradients.
//
//   before   %a.r = all_reduce(%a) axes=data   %b = ...   %b.r = all_reduce(%b) axes=data
//   after    %b = ...   %a.r, %b.r = all_reduce(%a, %b) axes=data
//
// A bucket is closed when it holds `bytes`, or when a node reads one of its results. What the backward pass waits for
// (sums of batch norm) and what the update alone reads (gradients) never share one: a gradient goes on its way while
// the pass goes on, and makes no sum that is waited for longer. For the same reason a full bucket of gradients goes
// behind one of the next three moves that are waited for, if more computing follows that one (up to the next such move)
// than lies before the first: all collectives of a rank are one chain. Works on every communicator's moves alike. The
// payload is exactly the sum of the members.
#ifndef PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_
#define PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_

#include <cstdint>

#include "graph/ir/graph.h"

namespace partita {

// `bytes` of a rank's buffer; 0: every all_reduce stays alone, and where it is.
Graph BucketAllReduces(const Graph& graph, int64_t bytes);

// The bucket size at which latency (seconds per collective) is a tenth of the time of the transfer. With few gradients
// less, so that they make eight buckets: the last one has nothing left to hide behind. Not below the size at which
// latency takes as long as the transfer.
int64_t BucketBytes(const Graph& graph, double latency, double bytes_per_second);

// The same where neither is known: gradients make eight buckets.
int64_t BucketBytes(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_
