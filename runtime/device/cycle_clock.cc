#include "runtime/device/cycle_clock.h"

#include <chrono>
#include <thread>

namespace partita {
namespace {

double Calibrate() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_time = Clock::now();
  const uint64_t begin_cycles = ReadCycles();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const Clock::time_point end_time = Clock::now();
  const uint64_t end_cycles = ReadCycles();
  return std::chrono::duration<double>(end_time - begin_time).count() / static_cast<double>(end_cycles - begin_cycles);
}

}  // namespace

double SecondsPerCycle() {
  static const double seconds = Calibrate();
  return seconds;
}

}  // namespace partita
