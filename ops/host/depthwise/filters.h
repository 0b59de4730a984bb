// What a depthwise convolution and its gradients have in common: which they are, and how their filters are laid out.
#ifndef PARTITA_OPS_HOST_DEPTHWISE_FILTERS_H_
#define PARTITA_OPS_HOST_DEPTHWISE_FILTERS_H_

#include <cstdint>

#include "ops/host/depthwise/taps.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

// Refuses groups of several channels, and windows of more rows than there is room for.
inline absl::Status RequireDepthwise(const Convolution& conv) {
  if (conv.empty()) return InvalidArgument("the block is empty");
  if (conv.group_c() != 1 || conv.group_out_c() != 1) {
    return InvalidArgument("groups have {} input and {} output channels, allowed is one of each", conv.group_c(),
                           conv.group_out_c());
  }
  if (conv.window.kernel_h > kMostTapRows) {
    return InvalidArgument("a window has {} rows, allowed are at most {}", conv.window.kernel_h, kMostTapRows);
  }
  return absl::OkStatus();
}

// Filters [channels, places] as the loops want them, [places, channels].
template <typename T>
void LayOutFilters(const Convolution& conv, const T* filters, Compute<T>* to) {
  const int64_t places = conv.window.kernel_h * conv.window.kernel_w, channels = conv.images.c;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < places; ++p) to[p * channels + c] = static_cast<Compute<T>>(filters[c * places + p]);
  }
}

// A kernel from compute.operator()<T>(arguments) with T the C++ type of `dtype`, and a workspace of `elements` of the
// type that it computes in.
template <typename F>
absl::StatusOr<PreparedKernel> PreparedDepthwise(DType dtype, F compute, int64_t elements) {
  const int64_t bytes = elements * SizeOf(AccumulatorOf(dtype));
  if (dtype != DType::kBF16) return PreparedFloating(dtype, compute, bytes);
  return Prepared([compute](const KernelArguments& a) { compute.template operator()<Bf16>(a); }, bytes);
}

// As many elements as a plain loop touches in the time.
inline int64_t DepthwiseWork(const Convolution& conv) {
  constexpr int64_t kVector = 8;
  const Images& size = conv.images;
  return size.n * size.out_h * size.out_w * conv.weights() / kVector;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_DEPTHWISE_FILTERS_H_
