// Computes the batch of a graph in micro-batches: every node that follows the samples stands once for each.
//
//   before   %x = input() f32[8,4]           %y = matmul(%x, %w) f32[8,2]         %l = softmax_cross_entropy(%y, %t)
//   after    %x@micro0 = input() field=x   %y@micro0 = matmul(%x@micro0, %w)    %l@micro0 = ... batch=8
//            %x@micro1 = input() field=x   %y@micro1 = matmul(%x@micro1, %w)    %l@micro1 = ... batch=8
//            %l@sum = add(%l@micro0, %l@micro1)
//
// Micro-batches are blocks in time as ranks are blocks in space, so the ops' own table says what each computes: where
// a rule splits the first dimension, a node has a copy for each block, which reads a slice of a state that is split
// with it; where the rule leaves a partial sum, the copies are added; a node without such a rule, or one that updates a
// state, takes its inputs whole, set together by concat. Parameters are shared, so gradients accumulate as the sum of
// contributions (docs/design.md 5.9). Copies carry their number in Node::micro_batch.
#ifndef PARTITA_GRAPH_PASSES_UNROLL_MICRO_BATCHES_H_
#define PARTITA_GRAPH_PASSES_UNROLL_MICRO_BATCHES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

// `forward`: what PrepareTraining or PrepareEvaluation makes, without layouts. kInvalidArgument: micro_batches < 1, or
// do not divide the first dimension of an input, or would cut a group of batch statistics; the node is named.
absl::StatusOr<Graph> UnrollMicroBatches(const Graph& forward, int64_t micro_batches, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_UNROLL_MICRO_BATCHES_H_
