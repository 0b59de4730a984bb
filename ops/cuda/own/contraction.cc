// The reference contractions of a node.
#include "ops/cuda/launch/contraction.h"

#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/launch/relu_mask.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {

namespace {

launch::MatMulSizes Launched(const ProductSizes& sizes) {
  return {sizes.m, sizes.n, sizes.k, sizes.transpose_x, sizes.transpose_w};
}
launch::MatMulSizes SizesOf(const LocalNode& node) { return Launched(MakeProductSizes(node)); }

// Of operands of one type into a result of another: the same, or its accumulator.
LaunchError Multiply(DType from, DType to, const launch::MatMulSizes& sizes, const launch::EpilogueLaunch& epilogue,
                     const KernelArguments& a, CudaQueue queue) {
  const auto multiply = from == to ? launch::MatMul : launch::WideMatMul;
  return multiply(from, sizes, epilogue, In(a, 0), In(a, 1), Out(a, 0), queue);
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaMatMul(const LocalNode& node) {
  const launch::MatMulSizes sizes = SizesOf(node);
  const int activation = EpilogueOf(node).activation;
  return OwnFloatingKernel(node, [=, from = Input(node, 0).dtype](const KernelArguments& a, DType to, CudaQueue q) {
    return Multiply(from, to, sizes, {In(a, 2), activation}, a, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaBatchMatMul(const LocalNode& node) {
  const ProductBatch batch = MakeProductBatch(node);
  return OwnFloatingKernel(node, [batch](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::BatchMatMul(dtype, batch.places, Launched(batch.each), In(a, 0), In(a, 1), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaMatMulBiasGrad(const LocalNode& node) {
  const size_t operand = BiasOperandOf(node);
  const ChannelRows dy = MakeRows(InputShape(node, operand));
  const ColumnChunks chunks = MakeColumnChunks(1, dy.rows, dy.channels);
  const DType from = Input(node, 0).dtype, to = node.outputs[1].dtype;
  RETURN_IF_ERROR(RequireFloating(from));
  return OwnSummingKernel(
      [=, sizes = SizesOf(node)](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        const LaunchError error = launch::WideMatMul(from, sizes, {}, In(a, 0), In(a, 1), Out(a, 0), q);
        if (error != kLaunched) return error;
        return launch::SumOverRows(from, to, chunks, In(a, operand), 1, Out(a, 1), scratch, q);
      },
      chunks.partial_bytes(1), chunks.counters(false));
}

absl::StatusOr<PreparedCudaKernel> CudaMatMulReluMask(const LocalNode& node) {
  const launch::MatMulSizes sizes = SizesOf(node);
  const int activation = EpilogueOf(node).activation;
  const ChannelRows y = MakeRows(node.outputs[0].shape());
  const DType from = Input(node, 0).dtype;
  return OwnFloatingKernel(node, [=](const KernelArguments& a, DType to, CudaQueue q) {
    const LaunchError error = Multiply(from, to, sizes, {In(a, 2), activation}, a, q);
    return error != kLaunched ? error : launch::WriteReluMask(to, y, Out(a, 0), Out(a, 1), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaMatMulReluGrad(const LocalNode& node) {
  const ChannelRows dx = MakeRows(node.outputs[0].shape());
  return OwnFloatingKernel(node, [dx, sizes = SizesOf(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    const LaunchError error = Multiply(dtype, dtype, sizes, {}, a, q);
    return error != kLaunched ? error : launch::ApplyReluMask(dtype, dx, In(a, 2), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaConv2d(const LocalNode& node) {
  const Convolution conv = ForwardConvolution(node);
  const int activation = EpilogueOf(node).activation;
  return OwnFloatingKernel(node, [conv, activation](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Conv2d(dtype, conv, {In(a, 2), activation}, In(a, 0), In(a, 1), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaConv2dInputGrad(const LocalNode& node) {
  return OwnFloatingKernel(node,
                           [conv = InputGradConvolution(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
                             return launch::Conv2dInputGrad(dtype, conv, In(a, 0), In(a, 1), Out(a, 0), q);
                           });
}

absl::StatusOr<PreparedCudaKernel> CudaConv2dWeightGrad(const LocalNode& node) {
  return OwnFloatingKernel(node,
                           [conv = WeightGradConvolution(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
                             return launch::Conv2dWeightGrad(dtype, conv, In(a, 0), In(a, 1), Out(a, 0), q);
                           });
}

}  // namespace partita
