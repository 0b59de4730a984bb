// The weight gradient of a convolution with groups: threads share chunks of the outputs' rows. The chunks, and so the
// bits of the result, depend on the sizes alone; each has sums of its own, which are added up in their order.
#include <algorithm>
#include <vector>

#include "ops/host/grouped/convolution.h"
#include "ops/host/grouped/filters.h"
#include "ops/host/grouped/taps.h"
#include "ops/host/kernel/parallel.h"

namespace partita {
namespace {

constexpr int64_t kMostChunks = 16;
constexpr int64_t kFewestPixels = 64;  // of a chunk, so that its sums are few beside them

class WeightGrad {
 public:
  explicit WeightGrad(const Convolution& conv)
      : conv_(conv),
        layout_(conv, false),
        rows_(OutputTaps(RowsOf(conv), conv)),
        columns_(OutputTaps(ColumnsOf(conv), conv)),
        chunks_(std::clamp<int64_t>(all_rows() * conv.images.out_w / kFewestPixels, 1, kMostChunks)) {}

  int64_t chunks() const { return chunks_; }

  template <typename T>
  bool HasLoops(const GroupLoops<T>& loops) const {
    return loops.filter_adder(columns_) != nullptr;
  }

  // The chunk's sums, in the loops' layout.
  template <typename T>
  void AddUp(int64_t chunk, const T* x, const T* dy, const GroupLoops<T>& loops, Compute<T>* sums) const {
    std::fill(sums, sums + conv_.weights(), Compute<T>(0));
    for (int64_t row = chunk * all_rows() / chunks_; row < (chunk + 1) * all_rows() / chunks_; ++row) {
      const int64_t n = row / conv_.images.out_h, i = row % conv_.images.out_h;
      const auto pixel = [&](int64_t seen) { return x + conv_.x.At(n, seen, 0) * conv_.images.c; };
      TapRow<T> taps[kMostTapRows];
      const int64_t count = FindRows(rows_, i, conv_.window.kernel_w, pixel, taps);
      loops.filter_adder(columns_)(columns_, {taps, static_cast<size_t>(count)},
                                   dy + conv_.y.At(n, i, 0) * conv_.images.c, sums);
    }
  }

  // Adds the sums of all chunks to those of the first, which become dw.
  template <typename T>
  void Join(Compute<T>* sums, T* dw) const {
    const int64_t weights = conv_.weights();
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
        for (int64_t i = begin; i < end; ++i) sums[i] += sums[chunk * weights + i];
      }
    };
    ParallelRange(weights, add, chunks_);
    layout_.ForEach([&](int64_t i, int64_t at) { dw[i] = T(sums[at]); });
  }

 private:
  int64_t all_rows() const { return conv_.images.n * conv_.images.out_h; }

  Convolution conv_;
  FilterLayout layout_;
  TapColumns rows_, columns_;
  int64_t chunks_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareGroupedConv2dWeightGrad(const LocalNode& node, size_t vectors) {
  const Convolution conv = WeightGradConvolution(node);
  RETURN_IF_ERROR(RequireGrouped(conv));
  const WeightGrad grad(conv);
  const DType dtype = node.outputs[0].dtype;
  const auto has = [&]<typename T>() { return grad.HasLoops(*GroupLoopsOfThisMachine<T>()[vectors]); };
  RETURN_IF_ERROR(RequireLoops(dtype, has));
  const auto compute = [grad, conv, vectors]<typename T>(const KernelArguments& a) {
    Compute<T>* const sums = Scratch<Compute<T>>(a);
    const GroupLoops<T>& loops = *GroupLoopsOfThisMachine<T>()[vectors];
    ParallelFor(grad.chunks(), GroupedWork(conv), [&](int64_t chunk) {
      grad.AddUp(chunk, In<T>(a, 0), In<T>(a, 1), loops, sums + chunk * conv.weights());
    });
    grad.Join(sums, Out<T>(a, 0));
  };
  return PreparedGrouped(dtype, compute, grad.chunks() * conv.weights());
}

}  // namespace partita
