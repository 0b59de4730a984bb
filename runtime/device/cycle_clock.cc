#include "runtime/device/cycle_clock.h"

#include <chrono>
#include <limits>
#include <thread>

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

struct Reading {
  Clock::time_point time;
  uint64_t cycles;
};

// A thread may lose its core between the two clocks: of some readings the one with the fewest cycles around it counts.
Reading ReadBoth() {
  Reading best{};
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  for (int attempt = 0; attempt < 10; ++attempt) {
    const uint64_t before = ReadCycles();
    const Clock::time_point time = Clock::now();
    const uint64_t around = ReadCycles() - before;
    if (around >= fewest) continue;
    fewest = around;
    best = {time, before + around / 2};
  }
  return best;
}

double Calibrate() {
  const Reading begin = ReadBoth();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const Reading end = ReadBoth();
  return std::chrono::duration<double>(end.time - begin.time).count() / static_cast<double>(end.cycles - begin.cycles);
}

}  // namespace

double SecondsPerCycle() {
  static const double seconds = Calibrate();
  return seconds;
}

}  // namespace partita
