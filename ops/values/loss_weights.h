// The weights of the rows of a loss or a metric, and the divisor of their sum, as kernels read them off a node.
#ifndef PARTITA_OPS_VALUES_LOSS_WEIGHTS_H_
#define PARTITA_OPS_VALUES_LOSS_WEIGHTS_H_

#include <cstddef>
#include <cstdint>

#include "ops/values/node_geometry.h"

namespace partita {

struct LossWeights {
  // The first `dimensions` of input 0 say which row; input `weight` are the weights.
  LossWeights(const LocalNode& node, size_t dimensions, size_t weight)
      : input(weight),
        rows(HasInput(node, weight) && InputShape(node, weight).size() == dimensions
                 ? 1
                 : RowsOfSample(InputShape(node, 0), dimensions)),
        divisor(node.attributes.String("reduction") == "sum" ? 1 : RowsOfMean(node, dimensions)) {}

  size_t input;    // absent: every row weighs 1
  int64_t rows;    // number of consecutive rows that share a weight
  double divisor;  // of the sum
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LOSS_WEIGHTS_H_
