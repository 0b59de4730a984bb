#include "tools/commands/processes/start_session.h"

#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <map>
#include <optional>
#include <utility>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checked_file.h"
#include "runtime/train/model_file.h"
#include "runtime/train/sharded/load_checkpoint.h"
#include "tools/commands/input/graph_hash.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/run_options.h"
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

absl::StatusOr<std::unique_ptr<Session>> Join(const RunSpec& spec, const RunPlan& plan, const TrainingData& data,
                                              Program program, const Digests& read) {
  SessionOptions options = ReadSessionOptions(spec, plan.speed);
  options.record_timeline = spec.output().has_trace();
  ASSIGN_OR_RETURN(options.job, JoinJob(spec, plan.chosen.strategy, program, data, read, options.speed));
  options.stall = EndWhenStalled(spec, options.job.get());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  if (!Speaks(*session)) return session;
  for (const std::string& warning : plan.warnings) spdlog::warn("{}", warning);
  return session;
}

}  // namespace

absl::StatusOr<RunPlan> PlanRun(const RunSpec& spec) {
  RETURN_IF_ERROR(SetUpLogging(spec));
  RETURN_IF_ERROR(CheckAcceleration(spec));
  RETURN_IF_ERROR(CheckPasses(spec));
  RETURN_IF_ERROR(CheckDevice(spec, spec.execution().deterministic()));
  RunPlan plan;
  ASSIGN_OR_RETURN(plan.model, ReadModel(spec));
  plan.graph_hash = GraphHash(plan.model);
  ASSIGN_OR_RETURN(const std::string changed, ChangeOfReportedGraph(spec));
  if (!changed.empty()) plan.warnings.push_back(changed);
  ASSIGN_OR_RETURN(plan.processes, IsOneOfSeveral());
  ASSIGN_OR_RETURN(plan.machine, ReadMachine(spec.machine(), plan.processes));
  ASSIGN_OR_RETURN(plan.chosen, ChosenStrategyOf(spec, plan.model, /*exact=*/false, plan.machine));
  ASSIGN_OR_RETURN(plan.speed, SpeedFor(spec, plan.machine, plan.chosen.strategy.mesh.size()));
  return plan;
}

absl::StatusOr<Program> ProgramOf(const RunSpec& spec, const RunPlan& plan, const ProgramUse& use) {
  ProgramOptions options = ReadProgramOptions(spec, plan.speed);
  options.count_votes = plan.processes && use.votes;
  options.given = use.given;
  options.predictions = use.predictions;
  options.entries = use.predictions.empty();
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(spec, plan.model, plan.chosen.strategy, options));
  if (use.predictions.empty()) return program;
  return OnlyEntries(std::move(program), {kPredictEntry});
}

absl::StatusOr<std::unique_ptr<Session>> StartSession(const RunSpec& spec, const RunPlan& plan,
                                                      const TrainingData& data, Program program,
                                                      std::optional<LoadedModel> loaded) {
  std::optional<CheckedFile> states;
  if (loaded) {
    ASSIGN_OR_RETURN(states, std::move(loaded->file).Check(program, loaded->states));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Join(spec, plan, data, std::move(program), DigestsOf(states)));
  if (states) RETURN_IF_ERROR(LoadStates(*session, *states));
  return session;
}

// Also which checkpoint it is: not all need find the same newest one.
absl::StatusOr<std::unique_ptr<Session>> ResumeSession(const RunSpec& spec, const RunPlan& plan,
                                                       const TrainingData& data, Program program,
                                                       const SavedCheckpoint& checkpoint) {
  RETURN_IF_ERROR(CheckStates(checkpoint, program));
  const Digests read = {
      {"the checkpoint of --resume", fmt::format("step {}, {}", checkpoint.record().step, checkpoint.Digest())}};
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Join(spec, plan, data, std::move(program), read));
  RETURN_IF_ERROR(LoadCheckpoint(checkpoint, *session));
  return session;
}

}  // namespace partita
