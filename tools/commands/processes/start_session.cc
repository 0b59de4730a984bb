#include "tools/commands/processes/start_session.h"

#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/model_file.h"
#include "tools/commands/processes/processes.h"

namespace partita {

absl::StatusOr<std::unique_ptr<Session>> StartSession(const Flags& flags, const Strategy& strategy,
                                                      const TrainingData& data, Program program, SessionOptions options,
                                                      std::optional<LoadedModel> loaded) {
  std::optional<SafetensorsFile> states;
  if (loaded) {
    ASSIGN_OR_RETURN(states, std::move(loaded->file).Read(program, loaded->states));
  }
  ASSIGN_OR_RETURN(options.job, JoinJob(flags, strategy, program, data, states ? &*states : nullptr));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  if (states) RETURN_IF_ERROR(LoadStates(*session, *states));
  return session;
}

}  // namespace partita
