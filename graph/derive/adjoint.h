// Takes the adjoint of a partitioned forward graph: appends its backward nodes (docs/derivation.md 2).
//
// The graph is walked in exact reverse. Every op emits its gradient ops, every move its adjoint, chosen by the form in
// which the cotangent comes. Contributions of several consumers are added per layout; where the producer is an op or a
// parameter, what is P is resolved before an R is added to it; a cast that makes terms wider is applied to each before
// (OpDefinition::gradient_of_terms). Nothing here knows of data or model parallelism.
#ifndef PARTITA_GRAPH_DERIVE_ADJOINT_H_
#define PARTITA_GRAPH_DERIVE_ADJOINT_H_

#include <map>

#include "absl/status/statusor.h"
#include "graph/derive/layout_builder.h"

namespace partita {

// The layout that a parameter's update wants for its gradient; parameters without entry: that of the parameter.
using UpdateLayouts = std::map<ValueId, Layout>;

// Returns the gradient of each parameter that a loss depends on, in its update's layout (S, R or At over every axis).
// `builder.graph().loss` is a scalar; it is seeded with 1, a further loss with its weight.
absl::StatusOr<std::map<ValueId, ValueId>> AppendAdjoint(LayoutBuilder& builder, const UpdateLayouts& updates = {});

// Appends the adjoint of one move for a cotangent of its output, by the form (P, R, S or At) that this has on the
// move's axes; other axes keep their form. A reshard's goes back to the mesh that it came from. Returns the cotangent
// of the move's input. `move` is a copy of the node: the graph grows.
ValueId AppendMoveAdjoint(LayoutBuilder& builder, const Node& move, ValueId cotangent);

// The layout of a resolved cotangent: S and At as forward, R where the value is R or P.
Layout DualLayout(const Layout& layout);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_ADJOINT_H_
