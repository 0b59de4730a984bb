// Lets a step count the ranks that want to stop: each says so by itself before the step, and all know the sum behind
// it. In data parallelism
//
//   before   %l.r, %a.r = all_reduce(%l, %a) axes=data
//            loss %l.r   metric %a.r
//   after    %@vote = input() f32[1] {data:P}
//            %l.r, %a.r, %@vote.r = all_reduce(%l, %a, %@vote) axes=data
//            loss %l.r   metric %a.r   votes %@vote = %@vote.r
//
// It costs one more element in what is added up anyway: in the widest all_reduce of scalars, and in further ones over
// the axes that are left, as there are any. Axes that none of them has get an all_reduce of their own, the step's first
// launch of all, for which nothing waits:
//
//   after    %@vote = input() f32[1] {data:P model:P}
//            %@vote.m = all_reduce(%@vote) axes=model
//            ...
//            %l.r, %a.r, %@vote.r = all_reduce(%l, %a, %@vote.m) axes=data
#ifndef PARTITA_GRAPH_DERIVE_COUNT_VOTES_H_
#define PARTITA_GRAPH_DERIVE_COUNT_VOTES_H_

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Of a partitioned graph, behind all passes that move or join all_reduces. A graph for one rank stays as it is.
absl::StatusOr<Graph> CountVotes(const Graph& graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_COUNT_VOTES_H_
