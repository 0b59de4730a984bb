// The secret by which the processes of a job know each other.
#ifndef PARTITA_RUN_JOB_JOB_TOKEN_H_
#define PARTITA_RUN_JOB_JOB_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "run/job/launcher.h"

namespace partita {

inline constexpr char kTokenFileVariable[] = "PARTITA_JOB_TOKEN_FILE";

// An eavesdropper on a handshake could guess a shorter one.
inline constexpr size_t kLeastTokenBytes = 16;

// Of PARTITA_JOB_TOKEN, or the first line of the file that PARTITA_JOB_TOKEN_FILE names; empty: neither is set. Flag
// errors: both are, the file cannot be read, or the token is too short.
absl::StatusOr<std::string> FindToken(const Environment& environment);

}  // namespace partita

#endif  // PARTITA_RUN_JOB_JOB_TOKEN_H_
