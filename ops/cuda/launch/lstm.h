// Launches of one place of an LSTM (ops/functors/lstm.h). Cells and sums of products are of the dtype's accumulator,
// all else is of the dtype; what is called dense is [samples, ...] without places.
//
// Each launch begins with the sums of a product. A library has written them before, or the launch multiplies by itself:
// that saves a launch and the way of the sums through memory.
#ifndef PARTITA_OPS_CUDA_LAUNCH_LSTM_H_
#define PARTITA_OPS_CUDA_LAUNCH_LSTM_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/launch/launch.h"
#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/functors/lstm.h"

namespace partita::launch {

// y = x w of dense rows, one for each sample.
enum class LstmProduct {
  kGates,               // the state times w_h
  kProjection,          // the units' outputs times w_projection
  kStateGradient,       // dg times the transpose of w_h
  kProjectionGradient,  // dprojected times the transpose of w_projection
};

inline MatMulSizes SizesOf(LstmProduct product, const LstmSizes& s) {
  switch (product) {
    case LstmProduct::kGates:
      return {s.samples, s.gates(), s.outputs};
    case LstmProduct::kProjection:
      return {s.samples, s.outputs, s.units};
    case LstmProduct::kStateGradient:
      return {s.samples, s.outputs, s.gates(), false, true};
    case LstmProduct::kProjectionGradient:
      return {s.samples, s.units, s.outputs, false, true};
  }
  return {};
}

// The sums that a launch begins with: dense `sums`, or those of x w, which the launch makes; without either they are
// zero.
struct LstmSums {
  const void* sums = nullptr;
  const void *x = nullptr, *w = nullptr;
  SumScratch scratch = {};  // as the product's tiles need it (product_tiles.h)
};

// Which place, and which sequences it belongs to.
struct LstmPlace {
  LstmSizes sizes;
  int64_t place = 0;
  const int32_t* lengths = nullptr;  // null: all places of all sequences
  uint64_t* fault = nullptr;         // receives a LabelFault's word for an invalid length; may be null
};

// A dense state before and after a place; null before: zero. Both may be the same, unless the launch multiplies by
// `before`. A sequence that the place is no part of keeps its state.
struct LstmState {
  const void* before = nullptr;
  void* after = nullptr;
};

// Forward. A sequence whose length cannot be becomes NaN.
struct LstmCells {
  const void* g;    // [n,t,4H]
  void* gates;      // [n,t,4H]; may be g
  void* cells;      // [n,t,H]
  LstmState c;      // [n,H]
  void* h;          // [n,t,H], of an LSTM without projection, as is its state:
  LstmState state;  // [n,H]
  void* outputs;    // dense [n,H], of an LSTM with a projection
};
LaunchError OpenLstmGates(DType dtype, const LstmPlace& at, const LstmSums& product, const LstmCells& cells,
                          CudaQueue queue);

// h [n,t,P] and the state [n,P] of an LSTM with a projection.
LaunchError KeepLstmOutputs(DType dtype, const LstmPlace& at, const LstmSums& projection, void* h,
                            const LstmState& state, CudaQueue queue);

// Backward.
struct LstmOutputGradients {
  const void* dh;                      // [n,t,P]
  const void *h, *h0;                  // [n,t,P]; dense, null: zero
  void* previous;                      // [n,t,P]
  void *dprojected, *dense_projected;  // [n,t,P], dense; null without a projection
};
// Of an LSTM with a projection, from the product with w_h; without one LstmGateGradients does this as well.
LaunchError AddLstmOutputGradients(DType dtype, const LstmPlace& at, const LstmSums& product,
                                   const LstmOutputGradients& outputs, CudaQueue queue);

struct LstmGateGradients {
  const void* gates;       // [n,t,4H]
  const void *cells, *c0;  // [n,t,H]; dense, null: zero
  void* dg;                // [n,t,4H]; may be gates
  LstmState dense_dg;      // [n,4H]
  LstmState dcells;        // [n,H], of the cells of the place before
  void* cell_outputs;      // [n,t,H]; null without a projection
};
// From the product with w_projection or, without one, with w_h.
LaunchError AddLstmGateGradients(DType dtype, const LstmPlace& at, const LstmSums& product,
                                 const LstmGateGradients& gates, const LstmOutputGradients& outputs, CudaQueue queue);

// dh0, dense [n,P], from the product with w_h.
LaunchError StoreLstmStateGradient(DType dtype, const LstmSizes& sizes, const LstmSums& product, void* dh0,
                                   CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_LSTM_H_
