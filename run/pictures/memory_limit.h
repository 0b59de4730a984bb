// The memory that a rank may use.
#ifndef PARTITA_RUN_PICTURES_MEMORY_LIMIT_H_
#define PARTITA_RUN_PICTURES_MEMORY_LIMIT_H_

#include <cstdint>
#include <optional>

#include "proto/run.pb.h"
#include "run/plan/machine.h"

namespace partita {

// In bytes: --memory, else what the device of rank 0 has. None: neither is known, or ranks share the memory.
std::optional<int64_t> MemoryLimitOf(const RunSpec& spec, const std::optional<Machine>& machine);

}  // namespace partita

#endif  // PARTITA_RUN_PICTURES_MEMORY_LIMIT_H_
