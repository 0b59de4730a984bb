// Host buffers for the results of a rank's steps on a device that the host cannot access: one per turn, filled by the
// step at its end. So the host can read a step's results while the next step runs (docs/design.md 5.26).
#ifndef PARTITA_RUNTIME_API_RANK_RESULT_PLACES_H_
#define PARTITA_RUNTIME_API_RANK_RESULT_PLACES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/schedule/schedule.h"
#include "runtime/device/byte_copy.h"
#include "runtime/device/device.h"

namespace partita {

class ResultPlaces {
 public:
  // `results`: Schedule::results. `arena` outlives the places.
  static absl::StatusOr<std::unique_ptr<ResultPlaces>> Create(Device& device, const void* arena,
                                                              std::span<const Placement> results, int turns);

  // What a step of that turn ends with.
  std::vector<ByteCopy> FromArena(int turn) const;

  // Where the host reads a result, by its place in the schedule's; null: the rank holds nothing of it.
  char* At(size_t result, int turn) const;

 private:
  struct Copied {
    const char* from = nullptr;  // null: nothing
    int64_t bytes = 0;
    int64_t offset = 0;  // in a place
  };

  ResultPlaces() = default;

  std::vector<Copied> results_;
  int64_t place_bytes_ = 0;
  std::unique_ptr<Arena> memory_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_RESULT_PLACES_H_
