// What a convolution with groups and its gradients have in common: which they are, and how their filters are laid out.
#ifndef PARTITA_OPS_HOST_GROUPED_FILTERS_H_
#define PARTITA_OPS_HOST_GROUPED_FILTERS_H_

#include <cstdint>

#include "ops/host/grouped/taps.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

// Refuses groups of other channels than loops exist for, and windows of more rows than there is room for.
inline absl::Status RequireGrouped(const Convolution& conv) {
  if (conv.empty()) return InvalidArgument("the block is empty");
  const int64_t depth = conv.group_c();
  if (conv.groups == 1 || conv.group_out_c() != depth || (depth != 1 && depth != 4 && depth != 8)) {
    return InvalidArgument("{} groups have {} input and {} output channels, allowed are several of 1, 4 or 8 of each",
                           conv.groups, depth, conv.group_out_c());
  }
  if (conv.window.kernel_h > kMostTapRows) {
    return InvalidArgument("a window has {} rows, allowed are at most {}", conv.window.kernel_h, kMostTapRows);
  }
  return absl::OkStatus();
}

// Which place of filters [out, places, in of the group] the loops have at [place, met, made]: channel `met` of its
// group is met where channel `made` is made.
class FilterLayout {
 public:
  // `turned`: the inputs are made, of outputs.
  FilterLayout(const Convolution& conv, bool turned)
      : channels_(conv.images.c),
        depth_(conv.group_c()),
        places_(conv.window.kernel_h * conv.window.kernel_w),
        turned_(turned) {}

  // Calls f(index in the filters, index in the loops' layout).
  template <typename F>
  void ForEach(const F& f) const {
    for (int64_t made = 0; made < channels_; ++made) {
      for (int64_t place = 0; place < places_; ++place) {
        for (int64_t met = 0; met < depth_; ++met) {
          const int64_t other = made / depth_ * depth_ + met, out = turned_ ? other : made;
          const int64_t in = (turned_ ? made : other) % depth_;
          f((out * places_ + place) * depth_ + in, (place * depth_ + met) * channels_ + made);
        }
      }
    }
  }

 private:
  int64_t channels_, depth_, places_;
  bool turned_;
};

// A kernel from compute.operator()<T>(arguments) with T the C++ type of `dtype`, and a workspace of `elements` of the
// type that it computes in.
template <typename F>
absl::StatusOr<PreparedKernel> PreparedGrouped(DType dtype, F compute, int64_t elements) {
  const int64_t bytes = elements * SizeOf(AccumulatorOf(dtype));
  if (dtype != DType::kBF16) return PreparedFloating(dtype, compute, bytes);
  return Prepared([compute](const KernelArguments& a) { compute.template operator()<Bf16>(a); }, bytes);
}

// Refuses a type of which has.operator()<T>() is false: there are no loops.
template <typename F>
absl::Status RequireLoops(DType dtype, const F& has) {
  const bool found = (dtype == DType::kF32 && has.template operator()<float>()) ||
                     (dtype == DType::kF64 && has.template operator()<double>()) ||
                     (dtype == DType::kBF16 && has.template operator()<Bf16>());
  if (found) return absl::OkStatus();
  return InvalidArgument("there are no loops for {} in these vectors and this window", Name(dtype));
}

// As many elements as a plain loop touches in the time.
inline int64_t GroupedWork(const Convolution& conv) {
  constexpr int64_t kVector = 8;
  const Images& size = conv.images;
  return size.n * size.out_h * size.out_w * conv.weights() / kVector;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_FILTERS_H_
