// Where our depthwise convolutions are worthwhile: where they were faster than oneDNN's, on a machine with AVX-512.
// That depends on types and sizes, so ranks of like machines choose alike. Elsewhere they are there to be measured
// (PreparedKernel::worthwhile).
#include "ops/host/depthwise/convolution.h"
#include "ops/host/depthwise/depthwise_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// oneDNN moves what few multiply-adds are made of as fast as the caches give it, in bf16 faster.
absl::Status HasManyPlaces(const Convolution& conv) {
  constexpr int64_t kFew = 9;
  const int64_t places = conv.window.kernel_h * conv.window.kernel_w;
  if (places > kFew) return absl::OkStatus();
  return InvalidArgument("a window has {} places, no more than {}", places, kFew);
}

absl::StatusOr<PreparedKernel> With(absl::StatusOr<PreparedKernel> prepared, absl::Status worthwhile) {
  if (prepared.ok()) prepared->worthwhile = std::move(worthwhile);
  return prepared;
}

// oneDNN has no f64.
absl::Status Worthwhile(DType dtype, const Convolution& conv) {
  return dtype == DType::kF64 ? absl::OkStatus() : HasManyPlaces(conv);
}

}  // namespace

absl::StatusOr<PreparedKernel> DepthwiseConv2d(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  const absl::Status worthwhile =
      dtype == DType::kBF16 ? InvalidArgument("the images are bf16") : Worthwhile(dtype, ForwardConvolution(node));
  return With(PrepareDepthwiseConv2d(node, 0), worthwhile);
}

// In bf16 oneDNN is slow at strides.
absl::StatusOr<PreparedKernel> DepthwiseConv2dInputGrad(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  const Convolution conv = InputGradConvolution(node);
  const bool strides = conv.window.stride_h > 1 || conv.window.stride_w > 1;
  const absl::Status worthwhile = dtype == DType::kBF16 && strides ? absl::OkStatus() : Worthwhile(dtype, conv);
  return With(PrepareDepthwiseConv2dInputGrad(node, 0), worthwhile);
}

absl::StatusOr<PreparedKernel> DepthwiseConv2dWeightGrad(const LocalNode& node) {
  return With(PrepareDepthwiseConv2dWeightGrad(node, 0),
              Worthwhile(node.outputs[0].dtype, WeightGradConvolution(node)));
}

}  // namespace partita
