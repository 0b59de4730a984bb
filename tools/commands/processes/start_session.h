// The session of a command, in a process that may be one of a job.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/ir/program.h"
#include "runtime/api/session.h"
#include "runtime/train/trainer.h"
#include "tools/program/flags.h"

namespace partita {

// Joins the job that there is (JoinJob), and begins with the states of --load if that is given; else with those of
// --seed. Collective. The file is read before the others are waited for: one that does not suit the graph is refused
// first.
absl::StatusOr<std::unique_ptr<Session>> StartSession(const Flags& flags, const Model& model, const Strategy& strategy,
                                                      const TrainingData& data, Program program,
                                                      SessionOptions options);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_
