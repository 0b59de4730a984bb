#include "tools/benchmarks/kernels/device_limits.h"

#include <algorithm>

namespace partita {

double DeviceLimits::BytesPerSecond(double bytes) const {
  auto from = bytes_per_s.upper_bound(bytes);
  if (from != bytes_per_s.begin()) --from;
  double most = 0;
  for (; from != bytes_per_s.end(); ++from) most = std::max(most, from->second);
  return most;
}

double LeastSeconds(const std::vector<LaunchWork>& launches, const DeviceLimits& limits) {
  double seconds = 0;
  for (const LaunchWork& work : launches) {
    seconds += std::max(work.flops / limits.flops_per_s, work.bytes / limits.BytesPerSecond(work.bytes));
  }
  return seconds;
}

}  // namespace partita
