#include "tools/commands/processes/start_session.h"

#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/model_file.h"
#include "tools/commands/processes/processes.h"

namespace partita {

absl::StatusOr<std::unique_ptr<Session>> StartSession(const Flags& flags, const Model& model, const Strategy& strategy,
                                                      const TrainingData& data, Program program,
                                                      SessionOptions options) {
  std::optional<SafetensorsFile> loaded;
  if (flags.IsSet("load")) {
    ASSIGN_OR_RETURN(loaded, ReadStateFile(model, flags.Text("load")));
  }
  ASSIGN_OR_RETURN(options.job, JoinJob(flags, strategy, program, data, loaded ? &*loaded : nullptr));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  if (loaded) RETURN_IF_ERROR(LoadStates(*session, model, *loaded));
  return session;
}

}  // namespace partita
