// What the rows of a loss or a metric count, and the divisor of their sum, as kernels read them off a node.
#ifndef PARTITA_OPS_VALUES_LOSS_WEIGHTS_H_
#define PARTITA_OPS_VALUES_LOSS_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "ops/values/node_geometry.h"
#include "runtime/base/check.h"

namespace partita {

struct LossWeights {
  // The first `dimensions` of input 0 say which row; input `weight` are the weights.
  LossWeights(const LocalNode& node, size_t dimensions, size_t weight)
      : input(weight),
        rows(HasInput(node, weight) && InputShape(node, weight).size() == dimensions
                 ? 1
                 : RowsOfSample(InputShape(node, 0), dimensions)),
        is_mean(node.attributes.Has("reduction") && node.attributes.String("reduction") == "mean"),
        divisor(is_mean ? RowsOfMean(node, dimensions) : 1) {
    if (!node.attributes.Has("ignore_index")) return;
    CHECK(!is_mean);  // an entry point makes it a sum (ops/forms/classification.h)
    ignored = node.attributes.Int("ignore_index");
  }

  size_t input;  // absent: every row weighs 1
  int64_t rows;  // number of consecutive rows that share a weight
  bool is_mean;
  double divisor;                                         // of the sum
  int64_t ignored = std::numeric_limits<int64_t>::min();  // rows with this label count nothing; by default none has it
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LOSS_WEIGHTS_H_
