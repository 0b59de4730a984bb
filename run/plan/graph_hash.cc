#include "run/plan/graph_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "graph/proto_io/proto_io.h"

namespace partita {

std::string GraphHash(const Model& model) {
  const std::string bytes = PrintModel(model, ProtoFormat::kBinary);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace partita
