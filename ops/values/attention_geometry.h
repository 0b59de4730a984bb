// Reads the sizes of an attention off a rank's share of one of its nodes.
#ifndef PARTITA_OPS_VALUES_ATTENTION_GEOMETRY_H_
#define PARTITA_OPS_VALUES_ATTENTION_GEOMETRY_H_

#include "graph/ir/kernel_catalogue.h"
#include "ops/functors/attention.h"
#include "ops/values/attention_places.h"
#include "ops/values/node_geometry.h"

namespace partita {

inline AttentionSizes MakeAttentionSizes(const Shape& query, const Shape& values) {
  return {query[0], query[1], values[1], query[2], values[2]};
}

// Of attention_context.
inline AttentionSizes MakeAttentionSizes(const LocalNode& node) {
  return MakeAttentionSizes(InputShape(node, AttentionContext::kQuery), InputShape(node, AttentionContext::kValues));
}

// Of attention_context_grad.
inline AttentionSizes MakeAttentionGradSizes(const LocalNode& node) {
  using Grad = AttentionContextGrad;
  return MakeAttentionSizes(InputShape(node, Grad::kQuery), InputShape(node, Grad::kValues));
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_ATTENTION_GEOMETRY_H_
