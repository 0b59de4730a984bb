// Sessions whose states are any numbers, to be saved and compared by their bits.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_SAVED_SESSION_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_SAVED_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"

namespace partita {

// Of a small LeNet-5 on data x model ranks, which are threads.
absl::StatusOr<std::unique_ptr<Session>> SmallSession(int data, int model);

// All states become finite numbers of a seed, the same in every process.
absl::Status SetRandomly(Session& session, uint32_t seed);

// All that a checkpoint holds, each state whole. Errors are those of SavedCheckpoint.
absl::StatusOr<std::map<std::string, std::string>> Contents(const std::string& checkpoint);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_SAVED_SESSION_H_
