#include "runtime/api/rank/result_places.h"

#include "runtime/base/alignment.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::unique_ptr<ResultPlaces>> ResultPlaces::Create(Device& device, const void* arena,
                                                                   std::span<const Placement> results, int turns) {
  std::unique_ptr<ResultPlaces> places(new ResultPlaces());
  for (const Placement& result : results) {
    Copied& copied = places->results_.emplace_back();
    if (result.offset < 0) continue;
    copied = {static_cast<const char*>(arena) + result.offset, result.tensor.bytes(), places->place_bytes_};
    places->place_bytes_ += AlignUp(copied.bytes);
  }
  ASSIGN_OR_RETURN(places->memory_, device.AllocateHost(turns * places->place_bytes_));
  return places;
}

std::vector<ByteCopy> ResultPlaces::FromArena(int turn) const {
  std::vector<ByteCopy> copies;
  for (size_t r = 0; r < results_.size(); ++r) {
    if (results_[r].from != nullptr) copies.push_back({At(r, turn), results_[r].from, results_[r].bytes});
  }
  return copies;
}

char* ResultPlaces::At(size_t result, int turn) const {
  const Copied& copied = results_[result];
  if (copied.from == nullptr) return nullptr;
  return static_cast<char*>(memory_->data()) + turn * place_bytes_ + copied.offset;
}

}  // namespace partita
