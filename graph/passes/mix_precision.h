// Mixed precision (Micikevicius et al., ICLR 2018, section 3.1; Kalamkar et al., arXiv 1905.12322): a forward graph
// computes in bf16 what bears it, on copies of weights that stay f32.
//
//   before   %w = parameter() f32[784,10]
//            %y = matmul(%x, %w) f32[6,10]
//            %r = relu(%y) f32[6,10]
//            %l = softmax_cross_entropy(%r, %t) f32[]
//   after    %w = parameter() f32[784,10]
//            %x@bf16 = cast(%x) bf16[6,784]
//            %w@bf16 = cast(%w) bf16[784,10]
//            %y = matmul(%x@bf16, %w@bf16) bf16[6,10]
//            %r = relu(%y) bf16[6,10]
//            %r@f32 = cast(%r) f32[6,10]
//            %l = softmax_cross_entropy(%r@f32, %t) f32[]
//
// An op's definition states its precision (Precision in graph/ir/op_definition.h) and which inputs stay f32
// (InputDefinition::wide): convolutions and matmul compute in bf16, what follows them too; losses, softmax, metrics and
// statistics in f32. Moves keep the type of their input: activations travel in bf16. Parameters and states, their
// updates, the loss and the metrics are f32 as before. A value is cast once for all its readers.
//
// The graph is partitioned: a cast lies as what it casts and behind its moves, so a weight that is kept in pieces is
// gathered in f32. The adjoint follows by itself: a weight's gradient is made in bf16, cast, and then summed, by micro-
// batches as by ranks, in f32 (ops/definitions/cast.cc): a sum over more ranks is not a less exact one, and all_reduces
// of gradients move what they move without this pass.
#ifndef PARTITA_GRAPH_PASSES_MIX_PRECISION_H_
#define PARTITA_GRAPH_PASSES_MIX_PRECISION_H_

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Takes a forward graph whose floating values are f32. An error is that of an op that refuses bf16, with the node.
absl::StatusOr<Graph> MixPrecision(const Graph& graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_MIX_PRECISION_H_
