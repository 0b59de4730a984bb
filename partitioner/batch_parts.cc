#include "partitioner/batch_parts.h"

#include <algorithm>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

constexpr int64_t kMostParts = 64;

int64_t SamplesOf(const Graph& forward) {
  int64_t samples = 1;
  for (const Node& node : forward.nodes()) {
    const Shape& shape = forward.type(node.outputs[0]).shape;
    if (node.op->role == Role::kInput && !shape.empty()) samples = std::max(samples, shape[0]);
  }
  return samples;
}

}  // namespace

std::vector<int64_t> BatchParts(const Graph& forward, int data) {
  const int64_t samples = SamplesOf(forward);
  std::vector<int64_t> counts = {1};
  for (int64_t count = 2; count <= std::min(samples / data, kMostParts); ++count) {
    if (samples % count == 0) counts.push_back(count);
  }
  return counts;
}

}  // namespace partita
