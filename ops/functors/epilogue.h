// The epilogue of a convolution or a matrix product within one node: bias, then an element-wise op.
#ifndef PARTITA_OPS_FUNCTORS_EPILOGUE_H_
#define PARTITA_OPS_FUNCTORS_EPILOGUE_H_

#include <cstdint>

#include "ops/functors/relu.h"
#include "ops/functors/type_list.h"
#include "runtime/base/philox.h"

namespace partita {

// The element-wise ops that may follow. Their gradients read results, so the values in between are not kept.
using EpilogueOps = TypeList<Relu>;

template <typename... Fs>
constexpr bool GradientsReadResults(TypeList<Fs...>) {
  return (Fs::kGradientReadsResult && ...);
}
static_assert(GradientsReadResults(EpilogueOps()));

inline constexpr int kNoActivation = -1;  // as a place in EpilogueOps

// The op at that place of a list, of x; x itself, if there is none.
template <typename... Fs, typename T>
PARTITA_HOST_DEVICE inline T ValueAt(TypeList<Fs...>, int place, T x) {
  int at = 0;
  T y = x;
  ((at++ == place ? void(y = Fs::Value(x)) : void()), ...);
  return y;
}

// A: of the bias. Sums may be wider.
template <typename A>
struct Epilogue {
  const A* bias = nullptr;  // of the output channels; null: none
  int activation = kNoActivation;

  PARTITA_HOST_DEVICE bool any() const { return bias != nullptr || activation != kNoActivation; }

  template <typename Sum>
  PARTITA_HOST_DEVICE Sum operator()(Sum sum, int64_t channel) const {
    if (bias != nullptr) sum += static_cast<Sum>(bias[channel]);
    return ValueAt(EpilogueOps(), activation, sum);
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_EPILOGUE_H_
