#include "tools/program/start/waiting_threads.h"

#include <cstdlib>
#include <cstring>

#include "runtime/device/host/spin.h"

namespace partita {
namespace {

constexpr char kPolicy[] = "OMP_WAIT_POLICY", kSpinCount[] = "GOMP_SPINCOUNT";

// Some 0.1 ms. More brings nothing: mini-inception's step on two threads is as fast with 100,000, and 1.1 times as slow
// with 1,000.
constexpr char kRounds[] = "10000";

// libgomp's own, where nothing is said.
constexpr int64_t kRoundsUnset = 300'000, kRoundsActive = 30'000'000'000;

}  // namespace

bool ChooseWaiting() {
  if (std::getenv(kPolicy) != nullptr) return false;
  return setenv(kPolicy, "passive", 1) == 0 && setenv(kSpinCount, kRounds, /*replace=*/0) == 0;
}

std::map<std::string, std::string> WaitingOf(int64_t processes, int64_t threads) {
  if (FitTheCores(processes * threads)) return {};
  return {{kSpinCount, "0"}};
}

int64_t SpinRounds(int64_t threads) {
  const char* const policy = std::getenv(kPolicy);
  const bool passive = policy != nullptr && strcasecmp(policy, "passive") == 0;
  if (passive && !FitTheCores(threads)) return 0;
  if (const char* const rounds = std::getenv(kSpinCount)) return std::strtoll(rounds, nullptr, 10);
  if (passive) return 0;
  return policy == nullptr ? kRoundsUnset : kRoundsActive;
}

}  // namespace partita
