#include "runtime/data/pictures/bad_files.h"

namespace partita {

absl::Status BadFiles::Add(const absl::Status& bad) {
  if (policy == BadFilePolicy::kStop || !absl::IsInvalidArgument(bad)) return bad;
  ++count;
  if (first.size() < kTold) first.emplace_back(bad.message());
  return absl::OkStatus();
}

}  // namespace partita
