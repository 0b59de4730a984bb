#include "ops/cuda/own/gradient_sum.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/cuda/kernel/workspace.h"
#include "ops/cuda/launch/arithmetic.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/gradient_terms.h"

namespace partita {
namespace {

struct Terms {
  std::vector<PreparedCudaKernel> kernels;
  DType dtype;
  int64_t elements;
  int64_t workspace_bytes = 0;  // of one term after the other

  // Where the terms lie, the first one in the output, and behind them their workspace.
  std::vector<void*> Place(void* output, Workspace& workspace) const {
    std::vector<void*> places = {output};
    while (places.size() < kernels.size()) places.push_back(workspace.Take(dtype, elements));
    places.push_back(workspace.TakeBytes(workspace_bytes));
    return places;
  }

  absl::StatusOr<CudaEnqueue> Bind(const KernelArguments& a) const {
    Workspace workspace(a.workspace);
    std::vector<void*> places = Place(Out(a, 0), workspace);
    std::vector<CudaEnqueue> steps;
    for (size_t t = 0; t < kernels.size(); ++t) {
      KernelArguments term = a;
      term.inputs = {a.inputs[2 * t], a.inputs[2 * t + 1]};
      term.outputs = {places[t]};
      term.workspace = places.back();
      ASSIGN_OR_RETURN(CudaEnqueue step, kernels[t].bind(term));
      steps.push_back(std::move(step));
    }
    const std::vector<const void*> summands(places.begin(), places.end() - 1);
    return CudaEnqueue([steps, summands, dtype = dtype, elements = elements](CudaQueue queue) -> absl::Status {
      for (const CudaEnqueue& step : steps) RETURN_IF_ERROR(step(queue));
      void* const sum = const_cast<void*>(summands[0]);
      return LaunchStatus(launch::Add(dtype, summands.data(), static_cast<int>(summands.size()), sum, elements, queue));
    });
  }
};

}  // namespace

absl::StatusOr<PreparedCudaKernel> GradientSum(
    const LocalNode& node, const std::function<absl::StatusOr<PreparedCudaKernel>(const LocalNode& term)>& prepare) {
  PreparedCudaKernel sum;
  Terms terms{{}, node.outputs[0].dtype, node.outputs[0].elements()};
  for (size_t t = 0; t < TermsOf(node); ++t) {
    ASSIGN_OR_RETURN(PreparedCudaKernel term, prepare(TermOf(node, t)));
    terms.workspace_bytes = std::max(terms.workspace_bytes, term.workspace_bytes);
    sum.deterministic = sum.deterministic && term.deterministic;
    sum.workspace_estimated = sum.workspace_estimated || term.workspace_estimated;
    sum.library_launches += term.library_launches;
    if (term.engine) sum.engine = term.engine;
    terms.kernels.push_back(std::move(term));
  }
  if (sum.library_launches > 0) ++sum.library_launches;
  Workspace counted(nullptr);
  terms.Place(nullptr, counted);
  sum.workspace_bytes = counted.bytes();
  sum.bind = [terms](const KernelArguments& a) { return terms.Bind(a); };
  return sum;
}

absl::StatusOr<PreparedCudaKernel> CudaConv2dInputGradSum(const LocalNode& node) {
  return GradientSum(node, CudaConv2dInputGrad);
}

}  // namespace partita
