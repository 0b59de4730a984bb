// The memory that this process may still allocate before the system ends it.
#ifndef PARTITA_RUNTIME_BASE_MEMORY_H_
#define PARTITA_RUNTIME_BASE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

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

struct ControlGroup {
  int version = 2;
  std::string path;    // in its hierarchy, as /proc/self/cgroup says it; "": the topmost group
  std::string folder;  // where its files are
};

// Groups of both versions that `controller` ("memory", "cpu", "pids") may limit, from the inside to the outside. `root`
// stands in front of /proc and /sys: tests plant files there. A folder may be missing: a container may mount its own
// group as the root of the hierarchy. Thread-safe.
std::vector<ControlGroup> ControlGroupsOf(const std::string& controller, const std::string& root);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_MEMORY_H_
