// The text form of a graph: one node a line, for tests, diffs and users (docs/derivation.md 4).
//
//   mesh data:2 model:2
//   state %w = %w@new
//   %x = input() f32[64,784] {data:S0 model:R}
//   %w = parameter() initializer=he_normal f32[784,10] {data:R model:S1}
//   %z = matmul(%x, %w) f32[64,10] {data:S0 model:S1}
//   phase backward
//   %a, %b = batch_norm_running(...) count=7 f32[8] {data:R model:R}, f32[8] {data:R model:R}
//   loss %l
//   metric %accuracy
//   apply %@apply
//   votes %@vote = %@vote@all_reduce
//
// Further meshes have lines of their own with a name, and their ranks unless these are 0 to size - 1. A value lies on
// the mesh whose axes its layout names:
//
//   mesh data:2 model:2
//   mesh tail stage:2 {1,3}
//   %t = reshard(%z) f32[64,10] {stage:S0}
//
// `_` is an absent optional input, `#` starts a comment. Attributes at their default, and a shape or dtype attribute
// that equals the output's, are omitted. The reader infers missing types.
#ifndef PARTITA_GRAPH_TEXT_TEXT_H_
#define PARTITA_GRAPH_TEXT_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"

namespace partita {

struct TextOptions {
  bool bytes = false;  // behind each move: "# payload 31360, wire 62720 in each of 2 groups"
};

std::string ToText(const Graph& graph, const TextOptions& options = {});

// One node's line without its end.
std::string NodeText(const Graph& graph, NodeId id, const TextOptions& options = {});

// Errors name the line. Reads what ToText writes, and forward graphs without mesh or types.
absl::StatusOr<Graph> ParseText(const std::string& text, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_TEXT_TEXT_H_
