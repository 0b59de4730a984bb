// The collective operations of schedules and communicators.
#ifndef PARTITA_GRAPH_VALUE_COLLECTIVE_KIND_H_
#define PARTITA_GRAPH_VALUE_COLLECTIVE_KIND_H_

#include <cstdint>

namespace partita {

enum class CollectiveKind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kAllToAll };

// "all_reduce", ...: the names of messages and files.
constexpr const char* Name(CollectiveKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"};
  return kNames[static_cast<int>(kind)];
}

// Whether the collective combines the elements of all ranks.
constexpr bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

// Whether one rank of the group differs from the others.
constexpr bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_COLLECTIVE_KIND_H_
