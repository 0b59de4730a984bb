#include "ops/cuda/roofline.h"

#include <algorithm>
#include <string_view>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "ops/values/lstm_geometry.h"

namespace partita {
namespace {

// A product or a convolution: an op that libraries compute, too.
bool IsContraction(const LocalNode& node) {
  return std::ranges::any_of(CudaKernelEntries(node.op->name), [](const CudaKernelEntry& entry) {
    return std::string_view(entry.family) == "reference";
  });
}

double FlopsPerSecond(const LocalNode& node, const GpuPeaks& peaks, bool allow_tf32) {
  const LocalTensor* const first = node.operand(0);
  const DType dtype = first == nullptr ? node.outputs[0].dtype : first->dtype;
  if (dtype == DType::kF64) return peaks.f64;
  if (!IsContraction(node)) return peaks.f32;
  if (dtype == DType::kBF16) return peaks.bf16;
  return allow_tf32 ? peaks.tf32 : peaks.f32;
}

double BytesOfInput(const LocalNode& node, size_t i) {
  return HasInput(node, i) ? static_cast<double>(Input(node, i).bytes()) : 0;
}

// What places of an LSTM behind the first read again. No place multiplies by w_h where the state is zero.
double WeightsReadAgain(const LocalNode& node, double cache_bytes) {
  const bool forward = node.op->name == "lstm_steps";
  if (!forward && node.op->name != "lstm_steps_grad" && node.op->name != "lstm_projected_steps_grad") return 0;
  const LstmSizes sizes = forward ? MakeLstmSizes(node) : MakeLstmGradSizes(node);
  const double w_h = BytesOfInput(node, forward ? size_t{LstmSteps::kWeights} : size_t{LstmStepsGrad::kWeights});
  const double projection =
      BytesOfInput(node, forward ? size_t{LstmSteps::kProjection} : size_t{LstmStepsGrad::kProjection});
  if (cache_bytes == 0 || w_h + projection <= cache_bytes) return 0;
  const bool begins = HasInput(node, forward ? size_t{LstmSteps::kH0} : size_t{LstmStepsGrad::kH0});
  const auto again = static_cast<double>(sizes.places - 1);
  return again * projection + std::max(begins ? again : again - 1, 0.0) * w_h;
}

}  // namespace

Roofline RooflineOf(const LocalNode& node, const GpuPeaks& peaks, bool allow_tf32) {
  const double bytes = BytesOf(node) + WeightsReadAgain(node, peaks.cache_bytes);
  return {FlopsOf(node) / FlopsPerSecond(node, peaks, allow_tf32), bytes / peaks.memory_bytes};
}

}  // namespace partita
