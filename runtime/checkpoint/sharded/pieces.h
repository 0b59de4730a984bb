// A box in pieces that follow each other in its row-major order.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_PIECES_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_PIECES_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "graph/value/shape.h"

namespace partita {

// Each of at most `most` elements, which is at least 1. The first error ends it.
absl::Status EachPiece(const Box& box, int64_t most, const std::function<absl::Status(const Box&)>& take);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_PIECES_H_
