// How long threads of this machine look for what they wait for before they sleep.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_SPIN_H_
#define PARTITA_RUNTIME_DEVICE_HOST_SPIN_H_

#include <chrono>
#include <cstdint>

namespace partita {

// Whether the cores that this process may use are as many. Thread-safe.
bool FitTheCores(int64_t threads);

// For so many threads, all that compute here: some 0.1 ms, as OpenMP's are told to (tools/program/start), if
// they fit the cores. Else 0: who spins would keep the core from the thread that it waits for. Thread-safe.
std::chrono::microseconds SpinOf(int64_t threads);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_SPIN_H_
