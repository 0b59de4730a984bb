// Joins all_reduces of one group of axes into buckets, so that latency is paid once for many small gradients.
//
//   before   %a.r = all_reduce(%a) axes=data   %b = ...   %b.r = all_reduce(%b) axes=data
//   after    %b = ...   %a.r, %b.r = all_reduce(%a, %b) axes=data
//
// A bucket is closed when it holds `bytes`, or when a node reads one of its results. Works on every communicator's
// moves alike. The payload is exactly the sum of the members.
#ifndef PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_
#define PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_

#include "graph/graph.h"

namespace partita {

// `bytes` of a rank's buffer; 0: every all_reduce stays alone.
Graph BucketAllReduces(const Graph& graph, int64_t bytes);

// The bucket size at which latency (seconds per collective) is a tenth of the time of the transfer.
int64_t BucketBytes(double latency, double bytes_per_second);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_BUCKET_ALL_REDUCES_H_
