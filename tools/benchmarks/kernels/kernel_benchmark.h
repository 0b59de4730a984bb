// Measures each kernel as a share of its device's limit.
//
// A kernel that contracts (matmul, conv2d) is compared with the fastest of those, any other with the fastest move of as
// many bytes (limit_meter.h): its inputs and outputs, each moved once, over the time of a launch. The time is the
// median over the rounds; the launches of a round follow each other. The limits take turns with the kernels.
#ifndef PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/kernels/kernel_target.h"

namespace partita {

struct KernelRow {
  std::string device;
  std::string kernel;  // "fast_bias"
  std::string sizes;   // of the first input: "64x28x28x32"
  double microseconds = 0;
  double rate = 0;   // of `unit`
  std::string unit;  // "GB/s" or "GFLOP/s"
  double share = 0;  // of the limit
};

absl::StatusOr<std::vector<KernelRow>> BenchmarkKernels(const KernelTarget& target, int rounds);

// One row per line as text, or a JSON array with the members of KernelRow.
std::string ToText(const std::vector<KernelRow>& rows);
std::string ToJson(const std::vector<KernelRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_
