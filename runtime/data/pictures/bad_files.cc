#include "runtime/data/pictures/bad_files.h"

#include "runtime/base/status.h"

namespace partita {

absl::Status BadFiles::Add(const absl::Status& bad) {
  if (!absl::IsInvalidArgument(bad)) return bad;
  if (policy == BadFilePolicy::kStop) return InvalidArgument("{}{}", std::string(bad.message()), kSkipHint);
  ++count;
  if (first.size() < kTold) first.emplace_back(bad.message());
  return absl::OkStatus();
}

}  // namespace partita
