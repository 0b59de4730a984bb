#include "graph/plan/launch_seconds.h"

#include <algorithm>
#include <variant>

#include "graph/ir/node_flops.h"

namespace partita {
namespace {

bool ReadsBf16(const LocalNode& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [](const auto& input) { return input && input->dtype == DType::kBF16; });
}

double SecondsOf(const LocalCopies& copies, const DeviceSpeed& speed) {
  double bytes = 0;
  for (const LocalCopy& copy : copies.copies) {
    bytes += static_cast<double>(Elements(copy.boxes.size) * copy.boxes.element_bytes);
  }
  return speed.launch_seconds + 2 * bytes / speed.bytes_per_second;
}

double SecondsOf(const CollectiveLaunch& call, const LinkSpeed& link) {
  const auto bytes = static_cast<double>((call.input_count + call.output_count) * SizeOf(call.dtype));
  return link.latency_seconds + bytes / link.bytes_per_second;
}

}  // namespace

double SecondsOf(const LocalNode& node, const DeviceSpeed& speed) {
  const double flops_per_second = ReadsBf16(node) ? speed.bf16_flops_per_second : speed.flops_per_second;
  return speed.launch_seconds + std::max(FlopsOf(node) / flops_per_second, BytesOf(node) / speed.bytes_per_second);
}

double SecondsOf(const LocalLaunch& launch, const MachineSpeed& speed) {
  if (const auto* const kernel = std::get_if<LocalKernel>(&launch.work)) return SecondsOf(kernel->node, speed.device);
  if (const auto* const copies = std::get_if<LocalCopies>(&launch.work)) return SecondsOf(*copies, speed.device);
  if (const auto* const moved = std::get_if<LocalCollective>(&launch.work))
    return SecondsOf(moved->call, speed.collective);
  return 0;
}

}  // namespace partita
