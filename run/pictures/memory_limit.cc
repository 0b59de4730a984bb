#include "run/pictures/memory_limit.h"

namespace partita {

std::optional<int64_t> MemoryLimitOf(const RunSpec& spec, const std::optional<Machine>& machine) {
  if (spec.execution().has_memory()) return spec.execution().memory();
  if (!machine || machine->cluster.KindOf(0).cores_shared) return std::nullopt;
  return machine->cluster.KindOf(0).memory_bytes;
}

}  // namespace partita
