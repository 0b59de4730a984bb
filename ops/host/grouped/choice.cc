// Where our convolutions with groups are worthwhile: where they were faster than oneDNN's, on a machine with AVX-512.
// That depends on types and sizes, so ranks of like machines choose alike. Elsewhere they are there to be measured
// (PreparedKernel::worthwhile).
#include "ops/host/grouped/convolution.h"
#include "ops/host/grouped/grouped_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// oneDNN has no f64. It moves what few multiply-adds are made of as fast as the caches give it.
absl::Status Worthwhile(DType dtype, const Convolution& conv) {
  constexpr int64_t kFew = 9;
  const int64_t products = conv.window.kernel_h * conv.window.kernel_w * conv.group_c();
  if (dtype == DType::kF64 || products > kFew) return absl::OkStatus();
  return InvalidArgument("an output has {} products, no more than {}", products, kFew);
}

absl::StatusOr<PreparedKernel> With(absl::StatusOr<PreparedKernel> prepared, absl::Status worthwhile) {
  if (prepared.ok()) prepared->worthwhile = std::move(worthwhile);
  return prepared;
}

}  // namespace

absl::StatusOr<PreparedKernel> GroupedConv2d(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  const absl::Status worthwhile =
      dtype == DType::kBF16 ? InvalidArgument("the images are bf16") : Worthwhile(dtype, ForwardConvolution(node));
  return With(PrepareGroupedConv2d(node, 0), worthwhile);
}

// Of depthwise ones oneDNN is slow at strides in bf16.
absl::StatusOr<PreparedKernel> GroupedConv2dInputGrad(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  const Convolution conv = InputGradConvolution(node);
  const bool depthwise = conv.group_c() == 1, strides = conv.window.stride_h > 1 || conv.window.stride_w > 1;
  if (dtype != DType::kBF16) return With(PrepareGroupedConv2dInputGrad(node, 0), Worthwhile(dtype, conv));
  return With(PrepareGroupedConv2dInputGrad(node, 0),
              depthwise && strides ? absl::OkStatus() : InvalidArgument("the images are bf16"));
}

absl::StatusOr<PreparedKernel> GroupedConv2dWeightGrad(const LocalNode& node) {
  return With(PrepareGroupedConv2dWeightGrad(node, 0), Worthwhile(node.outputs[0].dtype, WeightGradConvolution(node)));
}

}  // namespace partita
