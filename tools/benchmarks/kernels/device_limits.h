// The limits of a device, and the least time of work at these limits.
#ifndef PARTITA_TOOLS_BENCHMARKS_KERNELS_DEVICE_LIMITS_H_
#define PARTITA_TOOLS_BENCHMARKS_KERNELS_DEVICE_LIMITS_H_

#include <map>
#include <vector>

namespace partita {

struct DeviceLimits {
  double flops_per_s = 0;
  // By how many bytes are read and written together, again and again: few of them stay in a cache.
  std::map<double, double> bytes_per_s;

  // The limit of work on this number of bytes: the best measured with as many bytes, a little fewer, or more.
  double BytesPerSecond(double bytes) const;
};

// What a launch computes, and what it reads and writes, each operand once.
struct LaunchWork {
  double flops = 0, bytes = 0;
};

// The least time of launches one after the other, if each computes or moves its operands as fast as the device can. By
// the operations of the definition: a convolution by an algorithm of fewer (docs/papers.md 11.16) may take less.
double LeastSeconds(const std::vector<LaunchWork>& launches, const DeviceLimits& limits);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_KERNELS_DEVICE_LIMITS_H_
