#include "runtime/device/host/host_node.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace partita {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014): every bit of the result depends on every bit of x.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

absl::Status RunHostTask(const HostNode& node) {
  switch (node.kind) {
    case HostNode::Kind::kTask:
      return node.task.run(node.task.argument);
    case HostNode::Kind::kCopy:
      std::memcpy(node.transport.to, node.transport.from, node.transport.bytes);
      break;
    case HostNode::Kind::kZero:
      std::memset(node.transport.to, 0, node.transport.bytes);
      break;
    case HostNode::Kind::kRecord:
    case HostNode::Kind::kWait:
      break;
  }
  return absl::OkStatus();
}

HostDelay::HostDelay(std::optional<uint64_t> seed, double probability, int microseconds, int stream)
    : enabled_(seed.has_value() && probability > 0 && microseconds > 0),
      key_(Mix(Mix(seed.value_or(0)) + static_cast<uint64_t>(stream))),
      probability_(probability),
      microseconds_(microseconds) {}

int HostDelay::Microseconds(uint64_t task, uint64_t replay) const {
  if (!enabled_) return 0;
  const uint64_t drawn = Mix(Mix(key_ + task) + replay);
  const double uniform = static_cast<double>(drawn >> 11) * 0x1p-53;
  return uniform < probability_ ? 1 + static_cast<int>(Mix(drawn) % microseconds_) : 0;
}

void HostDelay::Before(uint64_t task, uint64_t replay) const {
  const int microseconds = Microseconds(task, replay);
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

}  // namespace partita
