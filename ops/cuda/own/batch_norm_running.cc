// Running statistics of batch normalizations.
#include "ops/cuda/launch/batch_norm_running.h"

#include <vector>

#include "ops/cuda/own/own_kernels.h"

namespace partita {
namespace {

launch::RunningStatistics StatisticsOf(const LocalNode& node) {
  launch::RunningStatistics statistics;
  statistics.groups = InputShape(node, 0)[0];
  statistics.channels = InputShape(node, 0)[2];
  statistics.momentum = node.attributes.Float("momentum");
  statistics.count = static_cast<double>(node.attributes.Int("count"));
  return statistics;
}

}  // namespace

// (stats, running_mean, running_variance, apply?) -> both, new; all members in as few launches as hold them.
absl::StatusOr<PreparedCudaKernel> CudaBatchNormRunning(const LocalNode& node) {
  const auto members = static_cast<size_t>(node.members);
  const size_t inputs = node.inputs.size() / members, outputs = node.outputs.size() / members;
  std::vector<launch::RunningStatistics> statistics;
  for (int m = 0; m < node.members; ++m) statistics.push_back(StatisticsOf(MemberOf(node, m)));
  return OwnWideKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    std::vector<launch::RunningStatistics> bound = statistics;
    for (size_t m = 0; m < members; ++m) {
      const size_t in = m * inputs, out = m * outputs;
      bound[m].stats = In<double>(a, in);
      bound[m].mean = In(a, in + 1);
      bound[m].variance = In(a, in + 2);
      bound[m].new_mean = Out(a, out);
      bound[m].new_variance = Out(a, out + 1);
    }
    return launch::BatchNormRunning(dtype, bound.data(), static_cast<int>(members), In<int32_t>(a, 3), q);
  });
}

}  // namespace partita
