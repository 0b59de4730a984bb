// Times a kernel alone on its device.
#ifndef PARTITA_TOOLS_BENCHMARKS_KERNELS_TIMED_KERNEL_H_
#define PARTITA_TOOLS_BENCHMARKS_KERNELS_TIMED_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/benchmarks/kernels/kernel_target.h"

namespace partita {

class TimedKernel {
 public:
  // The first kernel that takes the node, on memory of its own, all zeros, and warm. `target` and `stream`, which is of
  // its device, outlive it.
  static absl::StatusOr<TimedKernel> Create(const KernelTarget& target, const LocalNode& node, Stream& stream);

  const std::string& name() const { return name_; }

  // Seconds of a launch: a mean over launches that follow each other for some 20 ms.
  absl::StatusOr<double> Round() { return TimeLaunches(launches_); }

 private:
  TimedKernel() = default;
  absl::StatusOr<double> TimeLaunches(int64_t launches);

  std::string name_;
  Stream* stream_ = nullptr;
  std::unique_ptr<Arena> memory_;
  std::unique_ptr<Kernel> kernel_;
  int64_t launches_ = 1;  // of a round
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_KERNELS_TIMED_KERNEL_H_
