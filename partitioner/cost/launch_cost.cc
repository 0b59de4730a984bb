#include "partitioner/cost/launch_cost.h"

#include <algorithm>
#include <variant>

namespace partita {
namespace {

double BytesOf(const CopyLaunch& launch) {
  auto bytes = static_cast<double>(launch.zero.bytes);
  for (const BoxCopy& copy : launch.copies) bytes += 2 * static_cast<double>(Elements(copy.size) * copy.element_bytes);
  return bytes;
}

}  // namespace

double LaunchSeconds(const Launch& launch, const DeviceKind& kind, int sharing, const KernelTimes& times) {
  if (const auto* const kernel = std::get_if<KernelLaunch>(&launch.work)) {
    return ComputeSeconds(kernel->node, times, kind, sharing);
  }
  const auto* const copies = std::get_if<CopyLaunch>(&launch.work);
  return copies == nullptr ? 0 : RooflineSeconds({0, BytesOf(*copies), DType::kF32}, kind, sharing);
}

// Of a gather the whole is what comes out, of a scatter what goes in.
double BytesOf(const CollectiveLaunch& call) {
  return static_cast<double>(std::max(call.input_count, call.output_count) * SizeOf(call.dtype));
}

double MessageSeconds(const Cluster& cluster, const CollectiveLaunch& call, const std::vector<int>& group, int rank,
                      const Crossings& crossings) {
  double longest = 0;
  for (const auto* const counts : {&call.send_counts, &call.receive_counts}) {
    double seconds = 0;
    for (size_t r = 0; r < counts->size(); ++r) {
      const int64_t count = (*counts)[r];
      if (count == 0 || group[r] == rank) continue;
      const Link link = LinkBetween(cluster, rank, group[r], crossings);
      seconds += link.latency_seconds + static_cast<double>(count * SizeOf(call.dtype)) / link.bytes_per_second;
    }
    longest = std::max(longest, seconds);
  }
  return longest;
}

}  // namespace partita
