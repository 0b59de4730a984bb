// The checkpoint of --resume, known before there is a session.
#ifndef PARTITA_RUN_BEGINNING_RESUMED_CHECKPOINT_H_
#define PARTITA_RUN_BEGINNING_RESUMED_CHECKPOINT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "run/beginning/beginning.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"

namespace partita {

// A line for each node of the user's graph, and for each further size, by which batches are made: what a checkpoint
// says of it, and is compared by.
std::vector<std::string> LinesOf(const Model& model);

struct ResumedCheckpoint {
  SavedCheckpoint saved;
  Beginning beginning;
};

struct Resumption {
  std::optional<ResumedCheckpoint> checkpoint;  // none: training begins
  std::vector<std::string> passed_over;         // newer ones that --resume=auto did not take, and why
};

// FlagError: --resume names a step, or auto, and there is no folder to look for it in.
absl::Status CheckResumeFlags(const RunSpec& spec);

// --resume=auto: the newest whole one of --checkpoint, if there is any; STEP: that one; else a folder: a checkpoint, or
// the newest in a folder of checkpoints. kInvalidArgument: there is none such, or it is not whole, or of another graph:
// its first node that differs.
absl::StatusOr<Resumption> OpenResumed(const RunSpec& spec, const Model& model);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_RESUMED_CHECKPOINT_H_
