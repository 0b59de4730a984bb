// The memory of a process, as the system counts it.
#ifndef PARTITA_TOOLS_BENCHMARKS_PROCESS_MEMORY_H_
#define PARTITA_TOOLS_BENCHMARKS_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <cstdint>

namespace partita {

// Bytes that are resident: now, and the most since the process began. 0: there is no such process.
struct ProcessMemory {
  int64_t now = 0, most = 0;
};

ProcessMemory MemoryOf(pid_t process);

// The most that this process has had counts from now on.
void ForgetPeak();

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_PROCESS_MEMORY_H_
