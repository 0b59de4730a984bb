#include "tools/benchmarks/kernels/limit_meter.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "tools/models/kernels/kernel_cases.h"

namespace partita {
namespace {

// Read and written together. The most are more than what a cache holds, of a GPU too.
constexpr int64_t kFewestBytes = 128 << 10, kBytesOfAnImage = 8 << 20, kStep = 8;

}  // namespace

absl::StatusOr<LimitMeter> LimitMeter::Create(const KernelTarget& target, DType dtype) {
  LimitMeter meter;
  meter.target_ = target;
  ASSIGN_OR_RETURN(meter.stream_, target.device->CreateStream("limits"));
  ASSIGN_OR_RETURN(const std::vector<KernelCase> computing, ComputingCases(target.batch, target.side, dtype));
  for (const KernelCase& c : computing) RETURN_IF_ERROR(meter.Add(c.node, c.flops, 0));
  for (int64_t bytes = kFewestBytes; bytes <= target.batch * kBytesOfAnImage; bytes *= kStep) {
    ASSIGN_OR_RETURN(const std::vector<KernelCase> moving, MovingCases(bytes));
    for (const KernelCase& c : moving) RETURN_IF_ERROR(meter.Add(c.node, 0, static_cast<double>(bytes)));
  }
  return meter;
}

absl::Status LimitMeter::Add(const LocalNode& node, double flops, double bytes) {
  ASSIGN_OR_RETURN(TimedKernel kernel, TimedKernel::Create(target_, node, *stream_));
  entries_.push_back({std::move(kernel), flops, bytes});
  return absl::OkStatus();
}

absl::Status LimitMeter::Round() {
  for (Entry& entry : entries_) {
    ASSIGN_OR_RETURN(const double seconds, entry.kernel.Round());
    double& most = entry.flops > 0 ? limits_.flops_per_s : limits_.bytes_per_s[entry.bytes];
    most = std::max(most, (entry.flops > 0 ? entry.flops : entry.bytes) / seconds);
  }
  return absl::OkStatus();
}

}  // namespace partita
