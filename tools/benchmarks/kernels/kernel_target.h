// The device and kernels to measure.
#ifndef PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_TARGET_H_
#define PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_TARGET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/device/device.h"
#include "runtime/exec/kernel.h"

namespace partita {

struct KernelTarget {
  std::string name;  // "host", "NVIDIA H200"
  std::shared_ptr<Device> device;
  std::shared_ptr<const KernelLibrary> kernels;
  int64_t batch = 0;  // images of the cases
  int64_t side = 0;   // of the matrices of a large product
};

// What one rank of a session with these options runs on. kUnavailable: there is no GPU, or this program was built
// without CUDA.
absl::StatusOr<KernelTarget> OpenTarget(const SessionOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_KERNELS_KERNEL_TARGET_H_
