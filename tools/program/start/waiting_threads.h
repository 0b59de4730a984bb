// Configures how OpenMP's threads wait for the next kernel: they spin for a short time, then block.
#ifndef PARTITA_TOOLS_PROGRAM_WAITING_THREADS_H_
#define PARTITA_TOOLS_PROGRAM_WAITING_THREADS_H_

#include <cstdint>
#include <map>
#include <string>

namespace partita {

// A step has hundreds of kernels. A thread that sleeps between them wakes too late; one that spins for long takes the
// core from the threads that have work. So where OMP_WAIT_POLICY is not set, sets it to "passive", and GOMP_SPINCOUNT,
// which has precedence, to some 0.1 ms; a value that the caller chose stays. True: the environment has changed, which a
// process has to start again to see (clean_start.h). libgomp itself does not spin if a process has more threads than
// cores.
bool ChooseWaiting();

// For this number of processes that this one starts on this machine, each with `threads` threads: they must not spin if
// all their threads exceed the cores. With 0 threads they share the cores and fit. One process does not see the threads
// of another.
std::map<std::string, std::string> WaitingOf(int64_t processes, int64_t threads);

// Rounds that a waiting thread of this process spins, of `threads` in all; 0: it sleeps at once.
int64_t SpinRounds(int64_t threads);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_WAITING_THREADS_H_
