// The attention of a node, forward and gradient.
#include "ops/cuda/launch/attention.h"

#include "ops/cuda/kernel/length_fault.h"
#include "ops/cuda/kernel/workspace.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/attention_geometry.h"

namespace partita {
namespace {

// Both nodes have them one behind the other, from `query` on.
launch::AttentionInputs InputsOf(const AttentionSizes& sizes, const KernelArguments& a, size_t query) {
  using From = AttentionContext;
  const auto at = [&](From::Input input) { return In(a, query + input); };
  return {sizes, at(From::kQuery), at(From::kKeys), at(From::kValues), at(From::kV), at(From::kGain), at(From::kBias)};
}

struct GradientRows {
  GradientRows(DType dtype, const AttentionSizes& s, Workspace workspace)
      : partial(workspace.TakeBytes(launch::ChunksOfParts(s).partial_bytes(1))),
        weights(workspace.Take(dtype, s.units)),
        dscores(workspace.Take(DType::kF64, s.scores())),
        parts(workspace.Take(dtype, s.samples * s.places * 2 * s.units)),
        sums(workspace.Take(dtype, 2 * s.units)),
        bytes(workspace.bytes()) {}

  void *partial, *weights, *dscores, *parts, *sums;
  int64_t bytes;
};

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaAttentionContext(const LocalNode& node) {
  const AttentionSizes sizes = MakeAttentionSizes(node);
  const int64_t weight_bytes = sizes.units * SizeOf(AccumulatorOf(node.outputs[0].dtype));
  const auto enqueue = [sizes](const KernelArguments& a, DType dtype, CudaQueue q) {
    using Node = AttentionContext;
    const launch::AttentionOutputs outputs{In<int32_t>(a, Node::kLengths), a.fault, Out(a, Node::kContext),
                                           Out(a, Node::kProbabilities), a.workspace};
    return launch::AttentionContext(dtype, InputsOf(sizes, a, Node::kQuery), outputs, q);
  };
  ASSIGN_OR_RETURN(PreparedCudaKernel kernel, OwnFloatingKernel(node, enqueue, weight_bytes));
  const IndexPlaces lengths(node, AttentionContext::kLengths);
  kernel.explain = [lengths, places = sizes.places](uint64_t word) { return ExplainLength(lengths, places, word); };
  return kernel;
}

absl::StatusOr<PreparedCudaKernel> CudaAttentionContextGrad(const LocalNode& node) {
  const AttentionSizes sizes = MakeAttentionGradSizes(node);
  const DType dtype = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(dtype));
  const auto enqueue = [sizes, dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
    using Node = AttentionContextGrad;
    const GradientRows rows(AccumulatorOf(dtype), sizes, Workspace(scratch.workspace));
    const launch::AttentionGradients gradients{In(a, Node::kDcontext),
                                               In(a, Node::kProbabilities),
                                               Out(a, Node::kDquery),
                                               Out(a, Node::kDkeys),
                                               Out(a, Node::kDvalues),
                                               Out(a, Node::kDv),
                                               Out(a, Node::kDgain),
                                               Out(a, Node::kDbias),
                                               rows.weights,
                                               rows.dscores,
                                               rows.parts,
                                               rows.sums,
                                               {rows.partial, scratch.first_counter}};
    return launch::AttentionContextGrad(dtype, InputsOf(sizes, a, Node::kQuery), gradients, q);
  };
  return OwnSummingKernel(enqueue, GradientRows(AccumulatorOf(dtype), sizes, Workspace(nullptr)).bytes,
                          launch::ChunksOfParts(sizes).counters(false));
}

}  // namespace partita
