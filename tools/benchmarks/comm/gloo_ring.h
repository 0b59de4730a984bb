// Gloo's own ring all-reduce, to measure ours against.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMM_GLOO_RING_H_
#define PARTITA_TOOLS_BENCHMARKS_COMM_GLOO_RING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// A rank; thread-compatible.
class GlooRing {
 public:
  // All ranks, as threads of this process over the loopback interface; by rank.
  static absl::StatusOr<std::vector<std::unique_ptr<GlooRing>>> Connect(int ranks);
  virtual ~GlooRing() = default;

  // The sum over ranks of `count` values; in == out is allowed. Blocks.
  virtual absl::Status AllReduce(const float* in, float* out, int64_t count) = 0;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMM_GLOO_RING_H_
