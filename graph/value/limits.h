// Limits on the sizes of graphs and strategies. They are ten times what users train, so that a small file cannot demand
// hours of work or all memory. An error names the size found and the limit.
#ifndef PARTITA_GRAPH_VALUE_LIMITS_H_
#define PARTITA_GRAPH_VALUE_LIMITS_H_

#include <cstdint>

namespace partita {

inline constexpr int kMostRanks = 16384;            // of a mesh
inline constexpr int kMostAxes = 8;                 // of a mesh
inline constexpr int kMostFurtherMeshes = 256;      // of a strategy
inline constexpr int64_t kMostMicroBatches = 4096;  // of a batch
inline constexpr int64_t kMostNodes = 250'000;      // of a user's graph, a node once for each micro-batch
// Of ranks and such nodes: each rank has a launch for each of them, and three more for what training adds.
inline constexpr int64_t kMostPlacements = int64_t{16} << 20;
inline constexpr int64_t kMostSteps = int64_t{1} << 53;  // of a learning rate's schedule
// Of a file: fields and elements of lists. What a program makes of one takes some hundred bytes.
inline constexpr int64_t kMostFields = int64_t{4} << 20;
// Characters that patterns of a strategy are compared with in a walk over the graph, about.
inline constexpr int64_t kMostComparisons = 200'000'000;

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_LIMITS_H_
