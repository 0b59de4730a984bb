// Reads the sizes of an LSTM off a rank's share of one of its nodes.
#ifndef PARTITA_OPS_VALUES_LSTM_GEOMETRY_H_
#define PARTITA_OPS_VALUES_LSTM_GEOMETRY_H_

#include "graph/ir/kernel_catalogue.h"
#include "ops/functors/lstm.h"
#include "ops/values/lstm_places.h"
#include "ops/values/node_geometry.h"

namespace partita {

// Of lstm_steps.
inline LstmSizes MakeLstmSizes(const LocalNode& node) {
  const Shape &cells = node.outputs[LstmSteps::kCells].shape(), &h = node.outputs[LstmSteps::kH].shape();
  return {cells[0],
          cells[1],
          cells[2],
          h[2],
          node.attributes.Bool("reverse"),
          HasInput(node, LstmSteps::kProjection),
          node.attributes.Float("forget_bias")};
}

// Of lstm_steps_grad and lstm_projected_steps_grad.
inline LstmSizes MakeLstmGradSizes(const LocalNode& node) {
  const Shape &cells = InputShape(node, LstmStepsGrad::kCells), &h = InputShape(node, LstmStepsGrad::kH);
  return {
      cells[0], cells[1], cells[2], h[2], node.attributes.Bool("reverse"), HasInput(node, LstmStepsGrad::kProjection)};
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LSTM_GEOMETRY_H_
