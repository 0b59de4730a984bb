// The inputs that the host writes into a rank's arena, at their offsets: in the arena itself if the host can access it;
// else in pinned host memory, from which they are sent.
#ifndef PARTITA_RUNTIME_API_RANK_HOST_REACH_H_
#define PARTITA_RUNTIME_API_RANK_HOST_REACH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/schedule/schedule.h"
#include "runtime/device/device.h"

namespace partita {

class HostReach {
 public:
  // `ranges`: bytes of the arena that the host will ask for; they may overlap. `arena` outlives it.
  static absl::StatusOr<std::unique_ptr<HostReach>> Create(Device& device, void* arena, std::vector<ByteRange> ranges);

  // Where the host writes byte `offset` of the arena, which lies in one of the ranges.
  char* At(int64_t offset) const;

 private:
  // Bytes of the arena that lie together in the host's memory.
  struct MappedRange {
    ByteRange range;
    int64_t place = 0;
  };

  explicit HostReach(void* arena) : arena_(static_cast<char*>(arena)) {}

  char* const arena_;
  std::vector<MappedRange> mapped_;  // by offset, apart from each other
  std::unique_ptr<Arena> memory_;    // null: the arena itself
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_HOST_REACH_H_
