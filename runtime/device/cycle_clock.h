// Time stamps by the cycle counter: about 10 ns a stamp, where a system clock may cost a system call.
//
// The counter is assumed to run at one rate on all cores (constant_tsc, as on every x86-64 machine of the last
// 15 years); elsewhere the stamps are nanoseconds of the steady clock.
#ifndef PARTITA_RUNTIME_DEVICE_CYCLE_CLOCK_H_
#define PARTITA_RUNTIME_DEVICE_CYCLE_CLOCK_H_

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace partita {

inline uint64_t ReadCycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// Calibrated once per process against the steady clock; the first call blocks for about 10 ms. Thread-safe.
double SecondsPerCycle();

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CYCLE_CLOCK_H_
