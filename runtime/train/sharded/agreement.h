// The messages that processes of a job exchange between the steps of a checkpoint: what each did, and whether it
// succeeded.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_AGREEMENT_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_AGREEMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/api/job/message.h"
#include "runtime/api/session.h"

namespace partita {

// Collective: returns the error of the first process that has one, on all of them; else the answer of each, in the
// order of their first ranks. kUnavailable: a process is lost, or is in another `kind` of agreement.
absl::StatusOr<std::vector<std::string>> Agree(const Session& session, MessageKind kind, const absl::Status& own,
                                               const std::string& said = "");

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_AGREEMENT_H_
