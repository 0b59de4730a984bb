// Reads the sizes of an attention off a rank's share of one of its nodes.
#ifndef PARTITA_OPS_VALUES_ATTENTION_GEOMETRY_H_
#define PARTITA_OPS_VALUES_ATTENTION_GEOMETRY_H_

#include <cmath>

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

// Of an operand with up to four dimensions, the last ones of [n,h,q,k].
inline ScoreBias MakeScoreBias(const Shape& shape) {
  ScoreBias bias;
  int64_t* const strides[] = {&bias.key, &bias.query, &bias.head, &bias.sample};
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t size = shape[shape.size() - 1 - d];
    if (size != 1) *strides[d] = elements;
    elements *= size;
  }
  return bias;
}

// Query, keys, values, lengths, bias and iteration are inputs `query` and those behind it.
inline DotProductSizes MakeDotProductSizes(const LocalNode& node, size_t query) {
  const LocalTensor &q = Input(node, query), &keys = Input(node, query + 1), &values = Input(node, query + 2);
  DotProductSizes sizes;
  sizes.samples = q.shape()[0];
  sizes.queries = q.shape()[1];
  sizes.keys = keys.shape()[1];
  sizes.heads = q.shape()[2];
  sizes.groups = keys.shape()[2];
  sizes.depth = q.shape()[3];
  sizes.channels = values.shape()[3];
  sizes.heads_of_group = q.global[2] / keys.global[2];
  sizes.first_sample = node.attributes.Int("first_sample") + q.box.offset[0];
  sizes.all_queries = q.global[1];
  sizes.all_heads = q.global[2];
  sizes.first_query = q.box.offset[1];
  sizes.first_head = q.box.offset[2];
  sizes.first_group = keys.box.offset[2];
  sizes.causal = node.attributes.Bool("causal");
  const double scale = node.attributes.Float("scale");
  sizes.scale = scale == 0 ? 1 / std::sqrt(static_cast<double>(q.global[3])) : scale;
  const size_t bias = query + DotProductForward::kBias;
  if (HasInput(node, bias)) sizes.bias = MakeScoreBias(InputShape(node, bias));
  return sizes;
}

inline DotProductSizes MakeDotProductForwardSizes(const LocalNode& node) {
  return MakeDotProductSizes(node, DotProductForward::kQuery);
}
inline DotProductSizes MakeDotProductGradSizes(const LocalNode& node) {
  return MakeDotProductSizes(node, DotProductGrad::kQuery);
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_ATTENTION_GEOMETRY_H_
