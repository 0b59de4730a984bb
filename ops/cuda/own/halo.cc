// The sum of the parts that arrive in halo_exchange_adjoint, one launch for each, in their order: the host's bits.
#include "ops/cuda/launch/halo.h"

#include <vector>

#include "ops/cuda/launch/copies.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {

absl::StatusOr<PreparedCudaKernel> CudaHaloExchangeAdjoint(const LocalNode& node) {
  const LocalTensor& sum = node.outputs[0];
  std::vector<GlobalBlock> parts, common;
  for (const std::optional<LocalTensor>& input : node.inputs) {
    parts.push_back(MakeGlobalBlock(*input));
    common.push_back(MakeGlobalBlock({sum.dtype, sum.global, Intersect(input->box, sum.box)}));
  }
  return OwnFloatingKernel(node, [parts, common, block = MakeGlobalBlock(sum), bytes = sum.bytes()](
                                     const KernelArguments& a, DType dtype, CudaQueue q) {
    LaunchError error = launch::Zero(Out(a, 0), bytes, q);
    for (size_t i = 0; i < parts.size() && error == kLaunched; ++i) {
      error = launch::AddPart(dtype, common[i], parts[i], In(a, i), block, Out(a, 0), q);
    }
    return error;
  });
}

}  // namespace partita
