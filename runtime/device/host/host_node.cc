#include "runtime/device/host/host_node.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/base/exhaustion.h"

namespace partita {
absl::Status RunHostTask(const HostNode& node) {
  switch (node.kind) {
    case HostNode::Kind::kTask:
      return OrExhausted("a task of the host", [&] { return node.task.run(node.task.argument); });
    case HostNode::Kind::kCopy:
      std::memcpy(node.copy.to, node.copy.from, node.copy.bytes);
      break;
    case HostNode::Kind::kZero:
      std::memset(node.copy.to, 0, node.copy.bytes);
      break;
    case HostNode::Kind::kRecord:
    case HostNode::Kind::kWait:
      break;
  }
  return absl::OkStatus();
}

void SleepBefore(const SeededDelay& delay, uint64_t task, uint64_t replay) {
  const int microseconds = delay.Microseconds(task, replay);
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

}  // namespace partita
