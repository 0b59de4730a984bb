// Fast global average pooling: [n,h,w,c] -> [n,c]. The mean is over the global image, of which a rank may hold some
// rows.
#include <algorithm>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void MeanSample(const float* x, float* y, int64_t pixels, int64_t channels, float factor) {
  std::fill(y, y + channels, 0.0f);
  for (int64_t i = 0; i < pixels; ++i, x += channels) {
    PARTITA_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) y[c] += x[c];
  }
  for (int64_t c = 0; c < channels; ++c) y[c] *= factor;
}

PARTITA_TARGET_CLONES void SpreadSample(const float* dy, float* dx, int64_t pixels, int64_t channels, float factor) {
  for (int64_t i = 0; i < pixels; ++i) {
    PARTITA_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) dx[i * channels + c] = dy[c] * factor;
  }
}

// Sizes of the local image [n,h,w,c], and one over the pixels of the global one.
struct Sizes {
  explicit Sizes(const LocalTensor& x)
      : n(x.shape()[0]),
        pixels(x.shape()[1] * x.shape()[2]),
        channels(x.shape()[3]),
        factor(1.0f / static_cast<float>(x.global[1] * x.global[2])) {}
  int64_t elements() const { return n * pixels * channels; }
  int64_t n, pixels, channels;
  float factor;
};

}  // namespace

absl::StatusOr<PreparedKernel> FastGlobalAveragePool(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  return Prepared([x = Sizes(Input(node, 0))](const KernelArguments& a) {
    ParallelFor(x.n, x.elements(), [&](int64_t n) {
      MeanSample(In<float>(a, 0) + n * x.pixels * x.channels, Out<float>(a, 0) + n * x.channels, x.pixels, x.channels,
                 x.factor);
    });
  });
}

absl::StatusOr<PreparedKernel> FastGlobalAveragePoolGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  return Prepared([x = Sizes(node.outputs[0])](const KernelArguments& a) {
    ParallelFor(x.n, x.elements(), [&](int64_t n) {
      SpreadSample(In<float>(a, 0) + n * x.channels, Out<float>(a, 0) + n * x.pixels * x.channels, x.pixels, x.channels,
                   x.factor);
    });
  });
}

}  // namespace partita
