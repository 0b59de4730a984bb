#include "tools/commands/processes/start_session.h"

#include <xxhash.h>

#include <map>
#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/checkpoint/checked_file.h"
#include "runtime/train/model_file.h"
#include "runtime/train/sharded/load_checkpoint.h"
#include "tools/commands/processes/processes.h"

namespace partita {
namespace {

using Digests = std::map<std::string, std::string>;

std::string HashOf(const Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) text += fmt::format("{}:{} {}:{}\n", key.size(), key, value.size(), value);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// Each rank reads its own file of that name.
Digests DigestsOf(const std::optional<CheckedFile>& states) {
  if (!states) return {};
  const std::string file = Printable(states->path());
  return {{fmt::format("what {} holds", file), states->Digest()},
          {fmt::format("what {} says", file), HashOf(states->metadata())}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> StartSession(const Flags& flags, const Strategy& strategy,
                                                      const TrainingData& data, Program program, SessionOptions options,
                                                      std::optional<LoadedModel> loaded) {
  std::optional<CheckedFile> states;
  if (loaded) {
    ASSIGN_OR_RETURN(states, std::move(loaded->file).Check(program, loaded->states));
  }
  ASSIGN_OR_RETURN(options.job, JoinJob(flags, strategy, program, data, DigestsOf(states), options.speed));
  options.stall = EndWhenStalled(flags, options.job.get());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  if (states) RETURN_IF_ERROR(LoadStates(*session, *states));
  return session;
}

// Also which checkpoint it is: not all need find the same newest one.
absl::StatusOr<std::unique_ptr<Session>> ResumeSession(const Flags& flags, const Strategy& strategy,
                                                       const TrainingData& data, Program program,
                                                       SessionOptions options, const SavedCheckpoint& checkpoint) {
  RETURN_IF_ERROR(CheckStates(checkpoint, program));
  const Digests read = {
      {"the checkpoint of --resume", fmt::format("step {}, {}", checkpoint.record().step, checkpoint.Digest())}};
  ASSIGN_OR_RETURN(options.job, JoinJob(flags, strategy, program, data, read, options.speed));
  options.stall = EndWhenStalled(flags, options.job.get());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  RETURN_IF_ERROR(LoadCheckpoint(checkpoint, *session));
  return session;
}

}  // namespace partita
