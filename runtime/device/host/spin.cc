#include "runtime/device/host/spin.h"

#include "runtime/device/host/cores.h"

namespace partita {
namespace {

constexpr std::chrono::microseconds kSpin{100};

}  // namespace

bool FitTheCores(int64_t threads) { return threads <= UsableCores(); }

std::chrono::microseconds SpinOf(int64_t threads) {
  return FitTheCores(threads) ? kSpin : std::chrono::microseconds(0);
}

}  // namespace partita
