// Measures what a device does at most: products, a convolution, copies and an element-wise op (tools/models/kernels),
// the fastest round of each. Other work on the machine makes a round slower, never faster. These rounds alternate with
// those of the kernels, so both see the same machine.
#ifndef PARTITA_TOOLS_BENCHMARKS_KERNELS_LIMIT_METER_H_
#define PARTITA_TOOLS_BENCHMARKS_KERNELS_LIMIT_METER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/benchmarks/kernels/device_limits.h"
#include "tools/benchmarks/kernels/timed_kernel.h"

namespace partita {

// Keeps memory of the device: of the host some 300 MiB, of a GPU some 4 GiB.
class LimitMeter {
 public:
  // Products and convolutions are of this type.
  static absl::StatusOr<LimitMeter> Create(const KernelTarget& target, DType dtype);

  absl::Status Round();

  // By the rounds so far; there was one.
  const DeviceLimits& limits() const { return limits_; }

 private:
  struct Entry {
    TimedKernel kernel;
    double flops, bytes;  // one of them is 0
  };

  LimitMeter() = default;
  absl::Status Add(const LocalNode& node, double flops, double bytes);

  KernelTarget target_;
  std::unique_ptr<Stream> stream_;
  std::vector<Entry> entries_;
  DeviceLimits limits_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_KERNELS_LIMIT_METER_H_
