// How OpenMP's threads wait for the next kernel: they spin for a short time, then sleep.
#ifndef PARTITA_TOOLS_PROGRAM_WAITING_THREADS_H_
#define PARTITA_TOOLS_PROGRAM_WAITING_THREADS_H_

#include <cstdint>
#include <map>
#include <string>

namespace partita {

// A step has hundreds of kernels, and a thread that sleeps between them wakes too late; one that spins for long takes
// the core from whoever else has work. OpenMP reads how it is to wait from the environment when it is loaded, before
// main. So a process that was started without OMP_WAIT_POLICY sets it to "passive" and GOMP_SPINCOUNT, which goes over
// it, to some 0.1 ms, and starts itself again with the same arguments; if that fails, it goes on as it is, only slower.
// libgomp itself spins no more where a process has more threads than the machine cores. What the caller chose stays.
// To be called first in main.
void SpinThenSleep(char** argv);

// For processes that this one starts, so many on this machine, each with `threads` threads: if all do not fit the
// cores, they are not to spin. With 0 threads they share the cores, and fit. One process does not see the threads of
// another.
std::map<std::string, std::string> WaitingOf(int64_t processes, int64_t threads);

// Rounds that a waiting thread of this process spins, of `threads` in all; 0: it sleeps at once.
int64_t SpinRounds(int64_t threads);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_WAITING_THREADS_H_
