// Scaled dot-product attention of a node, forward and gradient.
#include "ops/cuda/launch/dot_product_attention.h"

#include <string>

#include "ops/cuda/kernel/length_fault.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/attention_geometry.h"

namespace partita {
namespace {

// Query, keys, values, lengths, bias and iteration lie one behind the other, from input `query` on.
class InputsOf {
 public:
  InputsOf(const LocalNode& node, const DotProductSizes& sizes, size_t query)
      : sizes_(sizes),
        query_(query),
        rate_(node.attributes.Float("dropout_rate")),
        key_(node.attributes.String("key").empty() ? node.name : node.attributes.String("key")) {}

  launch::DotProductInputs operator()(const KernelArguments& a) const {
    using From = DotProductForward;
    return {sizes_,
            In(a, query_ + From::kQuery),
            In(a, query_ + From::kKeys),
            In(a, query_ + From::kValues),
            In<int32_t>(a, query_ + From::kLengths),
            In(a, query_ + From::kBias),
            {rate_, PhiloxKey(a.seed, key_), In<int32_t>(a, query_ + From::kIteration)}};
  }

 private:
  DotProductSizes sizes_;
  size_t query_;
  double rate_;
  std::string key_;
};

int64_t MeansBytes(const LocalNode& node, const DotProductSizes& sizes) {
  return sizes.rows() * SizeOf(AccumulatorOf(Input(node, DotProductGrad::kQuery).dtype));
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaDotProductForward(const LocalNode& node) {
  using Node = DotProductForward;
  const DotProductSizes sizes = MakeDotProductForwardSizes(node);
  const auto enqueue = [inputs = InputsOf(node, sizes, Node::kQuery)](const KernelArguments& a, DType dtype,
                                                                      CudaQueue q) {
    return launch::DotProductForward(dtype, inputs(a), {a.fault, Out(a, Node::kOutput), Out(a, Node::kLse)}, q);
  };
  ASSIGN_OR_RETURN(PreparedCudaKernel kernel, OwnFloatingKernel(node, enqueue));
  const IndexPlaces lengths(node, Node::kLengths);
  kernel.explain = [lengths, keys = sizes.keys](uint64_t word) { return ExplainLength(lengths, keys, word); };
  return kernel;
}

absl::StatusOr<PreparedCudaKernel> CudaDotProductGrad(const LocalNode& node) {
  using Node = DotProductGrad;
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const auto enqueue = [inputs = InputsOf(node, sizes, Node::kQuery)](const KernelArguments& a, DType dtype,
                                                                      CudaQueue q) {
    const launch::DotProductGradients gradients{
        In(a, Node::kDoutput), In(a, Node::kOutput),   In(a, Node::kLse), Out(a, Node::kDquery),
        Out(a, Node::kDkeys),  Out(a, Node::kDvalues), a.workspace};
    return launch::DotProductGrad(dtype, inputs(a), gradients, q);
  };
  return OwnFloatingKernel(node, enqueue, MeansBytes(node, sizes));
}

absl::StatusOr<PreparedCudaKernel> CudaDotProductBiasGrad(const LocalNode& node) {
  using Node = DotProductGrad;
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const auto enqueue = [inputs = InputsOf(node, sizes, Node::kQuery), elements = node.outputs[0].elements()](
                           const KernelArguments& a, DType dtype, CudaQueue q) {
    launch::DotProductGradients gradients{};
    gradients.doutput = In(a, Node::kDoutput);
    gradients.output = In(a, Node::kOutput);
    gradients.lse = In(a, Node::kLse);
    gradients.means = a.workspace;
    gradients.dbias = Out(a, 0);
    return launch::DotProductBiasGrad(dtype, inputs(a), gradients, elements, q);
  };
  return OwnKernelOfElements(node, enqueue, MeansBytes(node, sizes));
}

}  // namespace partita
