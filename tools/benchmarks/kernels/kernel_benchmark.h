// What each kernel reaches of what its device can do.
//
// Two limits are measured in the same run, before the kernels: bytes per second of a large copy (read and written bytes
// counted), and FLOP per second of a large f32 matrix product by the first kernel of its list. A kernel that contracts
// (matmul, conv2d) is held against the second, any other against the first: bytes of its inputs and outputs, each moved
// once, over the time of a launch. The time is the median over the rounds; the launches of a round follow each other.
#ifndef PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/device/device.h"
#include "runtime/exec/kernel.h"

namespace partita {

// What is measured.
struct KernelTarget {
  std::string name;  // "host", "NVIDIA H200"
  std::shared_ptr<Device> device;
  std::shared_ptr<const KernelLibrary> kernels;
  int64_t batch = 0;  // images of the cases
  int64_t side = 0;   // of the matrices whose product is the limit
};

// What one rank of a session with these options runs on. kUnavailable: there is no GPU, or this program was built
// without CUDA.
absl::StatusOr<KernelTarget> OpenTarget(const SessionOptions& options);

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

// FLOP per second of a product of two matrices of the target's side.
absl::StatusOr<double> MeasureProduct(const KernelTarget& target, DType dtype, int rounds);

// Bytes per second, read and written, of a large copy.
absl::StatusOr<double> MeasureCopy(const KernelTarget& target, int rounds);

// One row per line for people, or a JSON array with the members of KernelRow.
std::string ToText(const std::vector<KernelRow>& rows);
std::string ToJson(const std::vector<KernelRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_
