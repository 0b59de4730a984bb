// Reference kernels of products with the mask of a relu: the product, then the mask's bits; and of nodes that read what
// a relu lets through.
#include "ops/functors/relu_mask.h"

#include "ops/functors/relu.h"
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

absl::StatusOr<PreparedKernel> ReferenceBehindRelu(const LocalNode& node, size_t dy,
                                                   absl::StatusOr<PreparedKernel> (*prepare)(const LocalNode&)) {
  LocalNode rest = node;
  rest.inputs[dy] = node.outputs.back();
  rest.inputs.pop_back();
  rest.outputs.pop_back();
  const auto mask = [=, y = rest.inputs.size(), masked = rest.outputs.size(),
                     elements = node.outputs.back().elements()]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < elements; ++i) Out<T>(a, masked)[i] = Relu::Gradient(In<T>(a, dy)[i], In<T>(a, y)[i]);
  };
  ASSIGN_OR_RETURN(const PreparedKernel first, PreparedFloating(node.outputs.back().dtype, mask));
  ASSIGN_OR_RETURN(PreparedKernel second, prepare(rest));
  second.bind = [dy, bind = second.bind](KernelArguments a) {
    a.inputs[dy] = a.outputs.back();
    a.inputs.pop_back();
    a.outputs.pop_back();
    return bind(a);
  };
  return InTurn(first, second);
}

}  // namespace partita
