// What fields of a run's description need beside them, and which exclude each other: the rules that hold before any
// file, device or environment is looked at.
#ifndef PARTITA_RUN_SPEC_CHECK_SPEC_H_
#define PARTITA_RUN_SPEC_CHECK_SPEC_H_

#include <string>

#include "absl/status/status.h"
#include "proto/run.pb.h"

namespace partita {

// FlagError: a rule of the command does not hold.
absl::Status CheckSpec(const RunSpec& spec, const std::string& command);

}  // namespace partita

#endif  // PARTITA_RUN_SPEC_CHECK_SPEC_H_
