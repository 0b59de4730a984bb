// A depthwise convolution's weight gradient: threads share chunks of the outputs' rows. The chunks, and so the bits of
// the result, depend on the sizes alone; each has sums of its own, which are added up in their order.
#include <algorithm>
#include <vector>

#include "ops/host/depthwise/convolution.h"
#include "ops/host/depthwise/filters.h"
#include "ops/host/depthwise/taps.h"
#include "ops/host/kernel/parallel.h"

namespace partita {
namespace {

constexpr int64_t kMostChunks = 16;
constexpr int64_t kFewestPixels = 64;  // of a chunk, so that its sums are few beside them

class WeightGrad {
 public:
  explicit WeightGrad(const Convolution& conv)
      : conv_(conv),
        rows_(OutputTaps(RowsOf(conv), conv.images.c)),
        columns_(OutputTaps(ColumnsOf(conv), conv.images.c)),
        chunks_(std::clamp<int64_t>(all_rows() * conv.images.out_w / kFewestPixels, 1, kMostChunks)) {}

  int64_t chunks() const { return chunks_; }

  // The chunk's sums [places, channels].
  template <typename T>
  void AddUp(int64_t chunk, const T* x, const T* dy, const DepthwiseLoops<T>& loops, Compute<T>* sums) const {
    std::fill(sums, sums + conv_.weights(), Compute<T>(0));
    for (int64_t row = chunk * all_rows() / chunks_; row < (chunk + 1) * all_rows() / chunks_; ++row) {
      const int64_t n = row / conv_.images.out_h, i = row % conv_.images.out_h;
      const auto pixel = [&](int64_t seen) { return x + conv_.x.At(n, seen, 0) * conv_.images.c; };
      TapRow<T> taps[kMostTapRows];
      const int64_t count = FindRows(rows_, i, conv_.window.kernel_w, pixel, taps);
      loops.add_filters(columns_, {taps, static_cast<size_t>(count)}, dy + conv_.y.At(n, i, 0) * conv_.images.c, sums);
    }
  }

  // Adds the sums of all chunks to those of the first, which become dw [channels, places].
  template <typename T>
  void Join(Compute<T>* sums, T* dw) const {
    const int64_t channels = conv_.images.c, weights = conv_.weights(), places = weights / channels;
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
        for (int64_t i = begin; i < end; ++i) sums[i] += sums[chunk * weights + i];
      }
    };
    ParallelRange(weights, add, chunks_);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t place = 0; place < places; ++place) dw[c * places + place] = T(sums[place * channels + c]);
    }
  }

 private:
  int64_t all_rows() const { return conv_.images.n * conv_.images.out_h; }

  Convolution conv_;
  TapColumns rows_, columns_;
  int64_t chunks_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareDepthwiseConv2dWeightGrad(const LocalNode& node, size_t vectors) {
  const Convolution conv = WeightGradConvolution(node);
  RETURN_IF_ERROR(RequireDepthwise(conv));
  const WeightGrad grad(conv);
  const DType dtype = node.outputs[0].dtype;
  const auto compute = [grad, conv, vectors]<typename T>(const KernelArguments& a) {
    Compute<T>* const sums = Scratch<Compute<T>>(a);
    const DepthwiseLoops<T>& loops = *DepthwiseLoopsOfThisMachine<T>()[vectors];
    ParallelFor(grad.chunks(), DepthwiseWork(conv), [&](int64_t chunk) {
      grad.AddUp(chunk, In<T>(a, 0), In<T>(a, 1), loops, sums + chunk * conv.weights());
    });
    grad.Join(sums, Out<T>(a, 0));
  };
  return PreparedDepthwise(dtype, compute, grad.chunks() * conv.weights());
}

}  // namespace partita
