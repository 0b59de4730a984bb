// How long threads of this machine spin before blocking.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_SPIN_H_
#define PARTITA_RUNTIME_DEVICE_HOST_SPIN_H_

#include <chrono>
#include <cstdint>

namespace partita {

// Whether the cores that this process may use are as many. Thread-safe.
bool FitTheCores(int64_t threads);

// For this number of threads, all that compute here: about 0.1 ms if they fit the cores, as for OpenMP's threads
// (tools/program/start). Else 0: a spinning thread would keep the core from the thread that it waits for. Thread-safe.
std::chrono::microseconds SpinOf(int64_t threads);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_SPIN_H_
