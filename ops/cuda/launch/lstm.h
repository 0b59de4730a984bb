// Launches of a place of an LSTM (ops/functors/lstm.h), apart from its products. Cells and products are of the dtype's
// accumulator, all else is of the dtype; what is called dense is [samples, ...] without places.
#ifndef PARTITA_OPS_CUDA_LAUNCH_LSTM_H_
#define PARTITA_OPS_CUDA_LAUNCH_LSTM_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/lstm.h"

namespace partita::launch {

// Which place, and which sequences it belongs to.
struct LstmPlace {
  LstmSizes sizes;
  int64_t place = 0;
  const int32_t* lengths = nullptr;  // null: all places of all sequences
  uint64_t* fault = nullptr;         // receives a LabelFault's word for an invalid length; may be null
};

// Forward. A sequence that has ended keeps the dense state; one whose length cannot be becomes NaN.
struct LstmCells {
  const void* g;        // [n,t,4H]
  const void* product;  // dense [n,4H]: of the state with w_h; null: zero
  void* gates;          // [n,t,4H]; may be g
  void* cells;          // [n,t,H]
  void* last_c;         // dense [n,H]
  void *h, *last_h;     // [n,t,H], dense; of an LSTM without projection
  void* outputs;        // dense [n,H]; of one with a projection
};
LaunchError OpenLstmGates(DType dtype, const LstmPlace& at, const LstmCells& cells, CudaQueue queue);

// h [n,t,P] and the dense state from the projection's product, dense [n,P].
LaunchError KeepLstmOutputs(DType dtype, const LstmPlace& at, const void* product, void* h, void* last_h,
                            CudaQueue queue);

// Backward. A sequence that has ended keeps the dense gradients, so that their products are what they were.
struct LstmOutputGradients {
  const void* dh;                      // [n,t,P]
  const void* product;                 // dense [n,P]: of the dense dg with w_h; null: zero
  const void *h, *h0;                  // [n,t,P]; dense, null: zero
  void* previous;                      // [n,t,P]
  void *dprojected, *dense_projected;  // [n,t,P], dense; null without a projection
};
// Of an LSTM with a projection; else LstmGateGradients does this as well.
LaunchError AddLstmOutputGradients(DType dtype, const LstmPlace& at, const LstmOutputGradients& outputs,
                                   CudaQueue queue);

struct LstmGateGradients {
  const void* gates;       // [n,t,4H]
  const void *cells, *c0;  // [n,t,H]; dense, null: zero
  const void* doutputs;    // dense [n,H]: the projection's product; null without one
  void* dg;                // [n,t,4H]; may be gates
  void* dense_dg;          // [n,4H]
  void* dcells;            // dense [n,H], of the cells of the place before
  void* cell_outputs;      // [n,t,H]; null without a projection
};
LaunchError AddLstmGateGradients(DType dtype, const LstmPlace& at, const LstmGateGradients& gates,
                                 const LstmOutputGradients& outputs, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_LSTM_H_
