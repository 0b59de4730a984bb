// The reason why none of several searches found a plan.
#ifndef PARTITA_PARTITIONER_SEARCH_REASON_H_
#define PARTITA_PARTITIONER_SEARCH_REASON_H_

#include "absl/status/status.h"

namespace partita {

// Keeps of `reason` and `next` the one that says more: what is too large could fit elsewhere, what is impossible
// nowhere; of equals the first.
inline void UpdateReason(absl::Status& reason, const absl::Status& next) {
  const bool says_more = absl::IsResourceExhausted(next) && !absl::IsResourceExhausted(reason);
  if (!next.ok() && (reason.ok() || says_more)) reason = next;
}

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_REASON_H_
