// The strategy of `--dp N --mp M` (derivation.md section 1): N replicas, each split over M ranks by channel.
#ifndef PARTITA_PARTITIONER_DATA_MODEL_STRATEGY_H_
#define PARTITA_PARTITIONER_DATA_MODEL_STRATEGY_H_

#include "absl/status/statusor.h"
#include "graph/strategy.h"

namespace partita {

// Mesh data:N model:M. Samples over data; over model every conv and matmul with at least M output channels is split by
// output channel, its inputs gathered; channel-wise ops follow; concat and reshape along the channels, softmax, loss
// and accuracy are whole. Refuses N or M below 1.
absl::StatusOr<Strategy> DataModelStrategy(const Graph& forward, int data, int model);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_DATA_MODEL_STRATEGY_H_
