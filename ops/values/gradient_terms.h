// The terms of conv2d_input_grad_sum(dy, w, dy', w', ...), for kernels that make them one by one: each is a sum of one.
#ifndef PARTITA_OPS_VALUES_GRADIENT_TERMS_H_
#define PARTITA_OPS_VALUES_GRADIENT_TERMS_H_

#include <cstddef>

#include "graph/ir/kernel_catalogue.h"

namespace partita {

// Term t reads inputs 2 * t and 2 * t + 1. A conv2d_input_grad has one.
inline size_t TermsOf(const LocalNode& node) { return node.inputs.size() / 2; }

inline LocalNode TermOf(const LocalNode& node, size_t term) {
  LocalNode alone{
      node.name, node.op, node.attributes, {node.inputs[2 * term], node.inputs[2 * term + 1]}, node.outputs};
  alone.replicated = node.replicated;
  return alone;
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_GRADIENT_TERMS_H_
