// The session of a command, in a process that may be one of a job.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/program.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"
#include "runtime/train/trainer.h"
#include "tools/commands/input/loaded_model.h"
#include "tools/program/flags.h"

namespace partita {

// Joins the job that there is (JoinJob), and begins with the states of `loaded` if there is such a file; those that it
// does not give are those of --seed. Collective. The file is read before the others are waited for: one that does not
// suit the program is refused first.
absl::StatusOr<std::unique_ptr<Session>> StartSession(const Flags& flags, const Strategy& strategy,
                                                      const TrainingData& data, Program program, SessionOptions options,
                                                      std::optional<LoadedModel> loaded);

// The same with the states of a checkpoint; each process reads the parts that its ranks hold.
absl::StatusOr<std::unique_ptr<Session>> ResumeSession(const Flags& flags, const Strategy& strategy,
                                                       const TrainingData& data, Program program,
                                                       SessionOptions options, const SavedCheckpoint& checkpoint);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_
