#include "ops/cuda/kernel/finish_counters.h"

#include <map>
#include <mutex>

#include "ops/cuda/launch/reduction_sizes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::mutex& Mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

// From the first counter of a range that is held to the one behind it. Guarded by Mutex().
std::map<int64_t, int64_t>& Held() {
  static auto& held = *new std::map<int64_t, int64_t>;
  return held;
}

// The first of the lowest free range.
int64_t FirstFree(int64_t count) {
  int64_t first = 0;
  for (const auto& [begin, end] : Held()) {
    if (first + count <= begin) break;
    first = end;
  }
  return first;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FinishCounters>> FinishCounters::Reserve(int64_t count) {
  const std::lock_guard<std::mutex> lock(Mutex());
  const int64_t taken = count < 1 ? 1 : count;
  const int64_t first = FirstFree(taken);
  if (first + taken > kFinishCounters) {
    return ResourceExhausted(
        "sums of a kernel want {} counters of the {} that all kernels of a process share: too "
        "many are in use",
        taken, kFinishCounters);
  }
  Held().emplace(first, first + taken);
  return std::shared_ptr<const FinishCounters>(new FinishCounters(first));
}

FinishCounters::~FinishCounters() {
  const std::lock_guard<std::mutex> lock(Mutex());
  Held().erase(first_);
}

}  // namespace partita
