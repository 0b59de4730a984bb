// How much memory this process may still take before the system ends it.
#ifndef PARTITA_RUNTIME_BASE_MEMORY_H_
#define PARTITA_RUNTIME_BASE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace partita {

// Bytes.
struct HostMemory {
  int64_t free = 0;
  int64_t total = 0;
};

// What the machine has, or less: what the process's control group and those around it allow (version 1 or 2), and its
// own limit of address space. Pages of files count as free, for they are given back when memory is short.
HostMemory MeasureMemory();

// The same from the files below `root` in place of those of the machine, and without the process's own limit.
HostMemory MeasureMemory(const std::string& root);

// kResourceExhausted: `what` needs more bytes than are free. To be asked before memory is taken whose size a file or a
// flag has chosen.
absl::Status CheckMemory(const std::string& what, int64_t bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_MEMORY_H_
