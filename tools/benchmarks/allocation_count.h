// Counts the heap allocations of the process: linking this replaces operator new. For benchmarks and tests only.
#ifndef PARTITA_TOOLS_BENCHMARKS_ALLOCATION_COUNT_H_
#define PARTITA_TOOLS_BENCHMARKS_ALLOCATION_COUNT_H_

#include <cstdint>

namespace partita {

// Calls of operator new since the start of the process. Thread-safe.
int64_t AllocationCount();

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ALLOCATION_COUNT_H_
