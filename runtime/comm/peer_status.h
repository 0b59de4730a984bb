// An error that another process sent.
#ifndef PARTITA_RUNTIME_COMM_PEER_STATUS_H_
#define PARTITA_RUNTIME_COMM_PEER_STATUS_H_

#include <string>

#include "absl/status/status.h"

namespace partita {

// Never OK: a code that says so, or that no Status has, becomes kUnavailable.
inline absl::Status PeerStatus(int code, const std::string& message) {
  const bool known =
      code > static_cast<int>(absl::StatusCode::kOk) && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnavailable, message);
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PEER_STATUS_H_
