#include "ops/cuda/launch/relu_mask.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/relu_mask.h"

namespace partita::launch {
namespace {

// A byte.
template <typename T>
struct WriteMaskBody {
  const T* y;
  uint8_t* mask;
  int64_t channels;
  Divisor bytes;  // of a row of the mask

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided place = bytes(index);
    mask[index] = MaskByte<Compute<T>>(y + place.quotient * channels, channels, place.rest);
  }
};

template <typename A>
struct ApplyMaskElement {
  const uint8_t* mask;
  int64_t bytes;  // of a row of the mask

  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* x, A* y) const {
    y[0] = HasBit(mask + place.row * bytes, place.channel) ? x[0] : A(0);
  }
};

}  // namespace

LaunchError WriteReluMask(DType dtype, ChannelRows shape, const void* y, void* mask, CudaQueue queue) {
  if (shape.elements() == 0) return kLaunched;
  const int64_t bytes = MaskBytes(shape.channels);
  return WithFloating(dtype, [&]<typename T>() {
    const WriteMaskBody<T> body{As<T>(y), As<uint8_t>(mask), shape.channels, Divisor(bytes)};
    return ForEach(shape.rows * bytes, body, queue);
  });
}

LaunchError ApplyReluMask(DType dtype, ChannelRows shape, const void* mask, void* dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const ApplyMaskElement<Compute<T>> element{As<uint8_t>(mask), MaskBytes(shape.channels)};
    return ForElements<T>({As<T>(static_cast<const void*>(dx))}, {As<T>(dx)}, shape, element, queue);
  });
}

}  // namespace partita::launch
