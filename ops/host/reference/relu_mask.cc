// Reference kernels of products with the mask of a relu: the product, then the mask's bits.
#include "ops/functors/relu_mask.h"

#include "ops/host/reference/reference_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceMatMulReluMask(const LocalNode& node) {
  ASSIGN_OR_RETURN(const PreparedKernel product, ReferenceMatMul(node));
  const ChannelRows y = MakeRows(node.outputs[0].shape());
  const auto write = [y]<typename T>(const KernelArguments& a) {
    const int64_t bytes = MaskBytes(y.channels);
    for (int64_t i = 0; i < y.rows * bytes; ++i) {
      Out<uint8_t>(a, 1)[i] = MaskByte<T>(Out<T>(a, 0) + i / bytes * y.channels, y.channels, i % bytes);
    }
  };
  ASSIGN_OR_RETURN(const PreparedKernel mask, PreparedFloating(node.outputs[0].dtype, write));
  return InTurn(product, mask);
}

absl::StatusOr<PreparedKernel> ReferenceMatMulReluGrad(const LocalNode& node) {
  ASSIGN_OR_RETURN(const PreparedKernel product, ReferenceMatMul(node));
  const ChannelRows dx = MakeRows(node.outputs[0].shape());
  const auto clear = [dx]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < dx.elements(); ++i) {
      const uint8_t* const row = In<uint8_t>(a, 2) + i / dx.channels * MaskBytes(dx.channels);
      if (!HasBit(row, i % dx.channels)) Out<T>(a, 0)[i] = T(0);
    }
  };
  ASSIGN_OR_RETURN(const PreparedKernel mask, PreparedFloating(node.outputs[0].dtype, clear));
  return InTurn(product, mask);
}

}  // namespace partita
