// The team of OpenMP threads that computes the kernels of one thread.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_KERNEL_TEAM_H_
#define PARTITA_RUNTIME_DEVICE_HOST_KERNEL_TEAM_H_

#include <pthread.h>

#include "absl/status/status.h"

namespace partita {

// Makes sure that parallel regions of the calling thread have as many threads as omp_get_max_threads() says, which is
// the number that kernels are made for: some of oneDNN's skip the part of a missing thread, or wait for it forever.
// Must be called before each kernel; after the first call it costs a comparison. A starting session calls it on every
// stream that runs kernels, so that a limit on threads fails before the first step.
//
// The first call of a thread switches off what OMP_DYNAMIC, OMP_NESTED and OMP_MAX_ACTIVE_LEVELS would change, for the
// calling thread alone, opens a region and counts its threads. libgomp ends the process when it cannot start a thread,
// so threads are started and ended beforehand to see that the system allows it. kResourceExhausted: it does not, or
// OMP_THREAD_LIMIT is lower. Builds without OpenMP compute on one thread, and nothing fails.
absl::Status StartKernelTeam();

// The most threads that a region can have (OMP_THREAD_LIMIT).
int MostKernelThreads();

using StartThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*run)(void*), void*);

// Starts this number of concurrent threads and ends them. kResourceExhausted: the system allows fewer. `start`: for
// tests.
absl::Status TryThreads(int count, StartThread start = pthread_create);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_KERNEL_TEAM_H_
