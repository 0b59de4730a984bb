// What follows the sum of a convolution or a matrix product: bias, then relu.
#ifndef PARTITA_OPS_FUNCTORS_EPILOGUE_H_
#define PARTITA_OPS_FUNCTORS_EPILOGUE_H_

#include <cstdint>

#include "ops/functors/relu.h"
#include "runtime/base/philox.h"

namespace partita {

// A: of the bias. Sums may be wider.
template <typename A>
struct Epilogue {
  const A* bias = nullptr;  // of the output channels; null: none
  bool relu = false;

  PARTITA_HOST_DEVICE bool any() const { return bias != nullptr || relu; }

  template <typename Sum>
  PARTITA_HOST_DEVICE Sum operator()(Sum sum, int64_t channel) const {
    if (bias != nullptr) sum += static_cast<Sum>(bias[channel]);
    return relu ? Relu::Value(sum) : sum;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_EPILOGUE_H_
