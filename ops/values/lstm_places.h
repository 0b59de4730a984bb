// Names the inputs and outputs of LSTM nodes by position (ops/definitions/sequences/lstm.cc).
#ifndef PARTITA_OPS_VALUES_LSTM_PLACES_H_
#define PARTITA_OPS_VALUES_LSTM_PLACES_H_

#include <cstddef>

namespace partita {

// lstm_steps(g, w_h, w_projection?, h0?, c0?, lengths?) -> h, gates, c, last_h, last_c
struct LstmSteps {
  enum Input : size_t { kG, kWeights, kProjection, kH0, kC0, kLengths };
  enum Output : size_t { kH, kGates, kCells, kLastH, kLastC };
};

// lstm_steps_grad(dh, gates, c, h, w_h, h0?, c0?, lengths?) -> dg, previous, dh0, dc0
// lstm_projected_steps_grad(the same, w_projection) -> the same, dprojected, outputs
struct LstmStepsGrad {
  enum Input : size_t { kDh, kGates, kCells, kH, kWeights, kH0, kC0, kLengths, kProjection };
  enum Output : size_t { kDg, kPrevious, kDh0, kDc0, kDprojected, kCellOutputs };
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LSTM_PLACES_H_
