// Element-wise ops, bias, dropout and pixels of a node. Outputs may lie at the address of an input.
#include "ops/cuda/launch/arithmetic.h"

#include "graph/ir/op_definition.h"
#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/functors/elementwise.h"
#include "ops/values/pixel_scale.h"
#include "runtime/base/philox.h"

namespace partita {
absl::StatusOr<PreparedCudaKernel> CudaConstant(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  return OwnKernel(
      [=, value = node.attributes.Float("value"), n = node.outputs[0].elements()](
          const KernelArguments& a, CudaQueue q) { return launch::Constant(dtype, value, Out(a, 0), n, q); });
}

absl::StatusOr<PreparedCudaKernel> CudaCast(const LocalNode& node) {
  return OwnKernel(
      [from = Input(node, 0).dtype, to = node.outputs[0].dtype, n = node.outputs[0].elements()](
          const KernelArguments& a, CudaQueue q) { return launch::Cast(from, to, In(a, 0), Out(a, 0), n, q); });
}

absl::StatusOr<PreparedCudaKernel> CudaAdd(const LocalNode& node) {
  return OwnFloatingKernel(node, [n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Add(dtype, a.inputs.data(), static_cast<int>(a.inputs.size()), Out(a, 0), n, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaUnary(const LocalNode& node) {
  const int place = PlaceOf(UnaryOps(), node.op->name);
  return OwnFloatingKernel(node,
                           [place, n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
                             return launch::Unary(place, dtype, In(a, 0), Out(a, 0), n, q);
                           });
}

absl::StatusOr<PreparedCudaKernel> CudaBinary(const LocalNode& node) {
  const int place = PlaceOf(BinaryOps(), node.op->name);
  return OwnFloatingKernel(node,
                           [place, n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
                             return launch::Binary(place, dtype, In(a, 0), In(a, 1), Out(a, 0), n, q);
                           });
}

absl::StatusOr<PreparedCudaKernel> CudaScale(const LocalNode& node) {
  return OwnFloatingKernel(node, [factor = node.attributes.Float("factor"), n = node.outputs[0].elements()](
                                     const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Scale(dtype, factor, In(a, 0), Out(a, 0), n, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaOver(const LocalNode& node) {
  return OwnWideKernel(node, [n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Over(dtype, In(a, 0), In(a, 1), Out(a, 0), n, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaBias(const LocalNode& node) {
  return OwnFloatingKernel(node,
                           [x = MakeRows(node.outputs[0].shape())](const KernelArguments& a, DType dtype, CudaQueue q) {
                             return launch::Bias(dtype, In(a, 0), In(a, 1), Out(a, 0), x, q);
                           });
}

// (dy) -> db, or (dy, y) -> db, masked
absl::StatusOr<PreparedCudaKernel> CudaBiasGrad(const LocalNode& node) {
  const ChannelRows dy = MakeRows(InputShape(node, 0));
  const ColumnChunks chunks = MakeColumnChunks(1, dy.rows, dy.channels);
  const DType from = Input(node, 0).dtype, to = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(to));
  const bool masks = node.outputs.size() > 1;
  return OwnSummingKernel(
      [=](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        if (masks) return launch::SumBehindRelu(from, to, chunks, In(a, 0), In(a, 1), Out(a, 1), Out(a, 0), scratch, q);
        return launch::SumOverRows(from, to, chunks, In(a, 0), 1, Out(a, 0), scratch, q);
      },
      chunks.partial_bytes(1), chunks.counters(false));
}

namespace {

absl::StatusOr<GlobalBlock> DrawnBlock(const LocalNode& node) {
  const LocalTensor& x = node.outputs[0];
  if (x.global.size() > GlobalBlock::kMaxRank) {
    return InvalidArgument("x has {} dimensions, allowed are {}", x.global.size(), GlobalBlock::kMaxRank);
  }
  GlobalBlock block = MakeGlobalBlock(x);
  block.offset[0] += node.attributes.Int("first_sample");
  return block;
}

std::string KeyOf(const LocalNode& node) {
  const std::string& key = node.attributes.String("key");
  return key.empty() ? node.name : key;
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaDropout(const LocalNode& node) {
  launch::DropoutLaunch dropout;
  ASSIGN_OR_RETURN(dropout.block, DrawnBlock(node));
  dropout.rate = node.attributes.Float("rate");
  return OwnFloatingKernel(node, [=, name = KeyOf(node), n = node.outputs[0].elements()](const KernelArguments& a,
                                                                                         DType dtype, CudaQueue q) {
    launch::DropoutLaunch bound = dropout;
    bound.key = PhiloxKey(a.seed, name);
    bound.iteration = In<int32_t>(a, 1);
    return launch::Dropout(dtype, bound, In(a, 0), Out(a, 0), n, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaNoise(const LocalNode& node) {
  launch::DrawLaunch draw;
  ASSIGN_OR_RETURN(draw.block, DrawnBlock(node));
  const bool normal = node.attributes.String("distribution") == "normal";
  return OwnFloatingKernel(node, [=, name = KeyOf(node), n = node.outputs[0].elements()](const KernelArguments& a,
                                                                                         DType dtype, CudaQueue q) {
    launch::DrawLaunch bound = draw;
    bound.key = PhiloxKey(a.seed, name);
    bound.iteration = In<int32_t>(a, 1);
    return launch::Noise(dtype, bound, normal, Out(a, 0), n, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaPositions(const LocalNode& node) {
  return OwnFloatingKernel(node, [places = MakeDimensionPlaces(node), n = node.outputs[0].elements()](
                                     const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Positions(dtype, places, Out(a, 0), n, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaPixels(const LocalNode& node) {
  ASSIGN_OR_RETURN(const PixelScale scale, LocalPixelScale(node));
  return OwnWideKernel(node,
                       [scale, n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
                         return launch::Pixels(dtype, scale, In<uint8_t>(a, 0), Out(a, 0), n, q);
                       });
}

}  // namespace partita
