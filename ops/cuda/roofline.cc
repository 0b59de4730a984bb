#include "ops/cuda/roofline.h"

#include <algorithm>
#include <string_view>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"

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

}  // namespace

Roofline RooflineOf(const LocalNode& node, const GpuPeaks& peaks, bool allow_tf32) {
  return {FlopsOf(node) / FlopsPerSecond(node, peaks, allow_tf32), BytesOf(node) / peaks.memory_bytes};
}

}  // namespace partita
