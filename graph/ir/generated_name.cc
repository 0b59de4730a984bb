#include "graph/ir/generated_name.h"

#include <fmt/format.h>

namespace partita {

std::string DrawnAs(const Attributes& attributes, const std::string& name) {
  const bool like = attributes.Has("like") && !attributes.String("like").empty();
  return like ? attributes.String("like") : name;
}

std::string MicroBatchName(const std::string& name, int64_t micro_batch) {
  return fmt::format("{}@micro{}", name, micro_batch);
}

}  // namespace partita
