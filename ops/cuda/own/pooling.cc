// Pooling of a node.
#include "ops/cuda/launch/pooling.h"

#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/columns.h"

namespace partita {
namespace {

// Elements from a pixel of an operand to the next.
int64_t PixelPitch(const LocalNode& node, size_t operand) {
  const int64_t pitch = PitchOf(node, operand);
  return pitch > 0 ? pitch : node.operand(operand)->shape().back();
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaMaxPool(const LocalNode& node) {
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return OwnFloatingKernel(node, [pool, x = PixelPitch(node, 0), y = PixelPitch(node, 1)](const KernelArguments& a,
                                                                                          DType dtype, CudaQueue q) {
    return launch::MaxPool(dtype, pool, {In(a, 0), x}, {Out(a, 0), y}, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaMaxPoolGrad(const LocalNode& node) {
  const Pooling pool = MakePooling(Input(node, 0), Input(node, 1), node.attributes);
  const int64_t x = PixelPitch(node, 0), y = PixelPitch(node, 1), dy = PixelPitch(node, 2), dx = PixelPitch(node, 3);
  return OwnFloatingKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::MaxPoolGrad(dtype, pool, {In(a, 0), x}, {In(a, 1), y}, {In(a, 2), dy}, {Out(a, 0), dx}, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaAveragePool(const LocalNode& node) {
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return OwnFloatingKernel(node, [pool, x = PixelPitch(node, 0), y = PixelPitch(node, 1)](const KernelArguments& a,
                                                                                          DType dtype, CudaQueue q) {
    return launch::AveragePool(dtype, pool, {In(a, 0), x}, {Out(a, 0), y}, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaAveragePoolGrad(const LocalNode& node) {
  const Pooling pool = MakePooling(node.outputs[0], Input(node, 0), node.attributes);
  return OwnFloatingKernel(node, [pool, dy = PixelPitch(node, 0), dx = PixelPitch(node, 1)](const KernelArguments& a,
                                                                                            DType dtype, CudaQueue q) {
    return launch::AveragePoolGrad(dtype, pool, {In(a, 0), dy}, {Out(a, 0), dx}, q);
  });
}

// The mean is over the global image; a rank that holds some of its rows gives its part of the sum.
absl::StatusOr<PreparedCudaKernel> CudaGlobalAveragePool(const LocalNode& node) {
  const Shape& x = InputShape(node, 0);
  const ColumnChunks chunks = MakeColumnChunks(x[0], x[1] * x[2], x[3]);
  const double divisor = static_cast<double>(Input(node, 0).global[1] * Input(node, 0).global[2]);
  const DType dtype = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(dtype));
  return OwnSummingKernel(
      [=](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        return launch::SumOverRows(dtype, dtype, chunks, In(a, 0), divisor, Out(a, 0), scratch, q);
      },
      chunks.partial_bytes(1), chunks.counters(false));
}

absl::StatusOr<PreparedCudaKernel> CudaGlobalAveragePoolGrad(const LocalNode& node) {
  const LocalTensor& dx = node.outputs[0];
  const ChannelRows rows = MakeRows(dx.shape());
  const int64_t pixels = dx.shape()[1] * dx.shape()[2];
  const double divisor = static_cast<double>(dx.global[1] * dx.global[2]);
  return OwnFloatingKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::GlobalAveragePoolGrad(dtype, rows, pixels, divisor, In(a, 0), Out(a, 0), q);
  });
}

}  // namespace partita
