// Scaled dot-product attention of a node, forward and gradient.
#include "ops/cuda/launch/dot_product_attention.h"

#include "ops/cuda/kernel/length_fault.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/attention_geometry.h"

namespace partita {
namespace {

// Query, keys, values and lengths lie one behind the other, from input `query` on.
launch::DotProductInputs InputsOf(const DotProductSizes& sizes, const KernelArguments& a, size_t query) {
  using From = DotProductForward;
  return {sizes, In(a, query + From::kQuery), In(a, query + From::kKeys), In(a, query + From::kValues),
          In<int32_t>(a, query + From::kLengths)};
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaDotProductForward(const LocalNode& node) {
  using Node = DotProductForward;
  const DotProductSizes sizes = MakeDotProductForwardSizes(node);
  const auto enqueue = [sizes](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::DotProductForward(dtype, InputsOf(sizes, a, Node::kQuery),
                                     {a.fault, Out(a, Node::kOutput), Out(a, Node::kLse)}, q);
  };
  ASSIGN_OR_RETURN(PreparedCudaKernel kernel, OwnFloatingKernel(node, enqueue));
  const IndexPlaces lengths(node, Node::kLengths);
  kernel.explain = [lengths, keys = sizes.keys](uint64_t word) { return ExplainLength(lengths, keys, word); };
  return kernel;
}

absl::StatusOr<PreparedCudaKernel> CudaDotProductGrad(const LocalNode& node) {
  using Node = DotProductGrad;
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const auto enqueue = [sizes](const KernelArguments& a, DType dtype, CudaQueue q) {
    const launch::DotProductGradients gradients{
        In(a, Node::kDoutput), In(a, Node::kOutput),   In(a, Node::kLse), Out(a, Node::kDquery),
        Out(a, Node::kDkeys),  Out(a, Node::kDvalues), a.workspace};
    return launch::DotProductGrad(dtype, InputsOf(sizes, a, Node::kQuery), gradients, q);
  };
  return OwnFloatingKernel(node, enqueue, sizes.rows() * SizeOf(AccumulatorOf(node.outputs[0].dtype)));
}

}  // namespace partita
