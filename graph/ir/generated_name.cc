#include "graph/ir/generated_name.h"

#include <fmt/format.h>

namespace partita {

std::string MicroBatchName(const std::string& name, int64_t micro_batch) {
  return fmt::format("{}@micro{}", name, micro_batch);
}

}  // namespace partita
