#include "run/start.h"

#include <xxhash.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/read/class_weights.h"
#include "graph/read/model_entries.h"
#include "importer/import_model.h"
#include "ops/registry.h"
#include "run/beginning/adapter_states.h"
#include "run/beginning/exported_weights.h"
#include "run/job/join_job.h"
#include "run/plan/graph_hash.h"
#include "run/plan/inputs.h"
#include "run/plan/run_options.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checked_file.h"
#include "runtime/train/model_file.h"
#include "runtime/train/sharded/load_checkpoint.h"

namespace partita {
namespace {

using Digests = std::map<std::string, std::string>;

std::string HashOf(const Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) text += fmt::format("{}:{} {}:{}\n", key.size(), key, value.size(), value);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// Each rank reads its own file of that name; weights of an exported program, or of another program's file, are in a
// temporary one, with another name for each process.
Digests DigestsOf(const std::optional<CheckedFile>& states, const std::string& path) {
  if (!states) return {};
  const std::string file = Printable(path);
  return {{fmt::format("what {} holds", file), states->Digest()},
          {fmt::format("what {} says", file), HashOf(states->metadata())}};
}

absl::StatusOr<std::unique_ptr<Session>> Join(const RunSpec& spec, const RunPlan& plan, const TrainingData& data,
                                              Program program, const Digests& read, const Joining& joining) {
  SessionOptions options = ReadSessionOptions(spec, plan.speed);
  options.record_timeline = spec.output().has_trace();
  ASSIGN_OR_RETURN(options.job, JoinJob(spec, plan.chosen.strategy, program, data, read, options.speed, joining));
  options.stall = WatchForStalls(spec, options.job.get(), joining);
  return Session::Start(std::move(program), options);
}

// Loads states; class weights stay those of --class-weights, whatever a file has.
absl::Status KeepingClassWeights(const RunPlan& plan, Session& session, const std::function<absl::Status()>& load) {
  std::map<std::string, HostTensor> kept;
  for (const std::string& name : ClassWeightStates(plan.model.graph)) {
    ASSIGN_OR_RETURN(kept[name], session.ReadState(name));
  }
  RETURN_IF_ERROR(load());
  for (const auto& [name, weights] : kept) RETURN_IF_ERROR(session.WriteState(name, weights));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunPlan> PlanRun(const RunSpec& spec, const PlanUse& use, std::optional<Model> given) {
  RETURN_IF_ERROR(CheckPasses(spec));
  if (use.runs) RETURN_IF_ERROR(CheckDevice(spec));
  RunPlan plan;
  ASSIGN_OR_RETURN(plan.model, given ? Sized(spec, *std::move(given)) : ReadModel(spec));
  plan.graph_hash = GraphHash(plan.model);
  if (!use.trains) AssumeScheduleLength(plan.model);
  if (use.processes) {
    plan.processes = *use.processes;
  } else {
    ASSIGN_OR_RETURN(plan.processes, IsOneOfSeveral(spec));
  }
  ASSIGN_OR_RETURN(plan.machine, ReadMachine(spec.machine(), plan.processes));
  ASSIGN_OR_RETURN(plan.chosen, ChosenStrategyOf(spec, plan.model, use.exact, plan.machine, use.objective));
  if (plan.chosen.batch > 0) {
    ASSIGN_OR_RETURN(plan.model, WithBatch(plan.model, plan.chosen.batch, Ops()));
  }
  ASSIGN_OR_RETURN(plan.speed, SpeedFor(spec, plan.machine, plan.chosen.strategy.mesh.size()));
  return plan;
}

absl::StatusOr<Program> ProgramOf(const RunSpec& spec, const RunPlan& plan, const ProgramUse& use) {
  ProgramOptions options = ReadProgramOptions(spec, plan.speed);
  options.count_votes = plan.processes && use.votes;
  options.given = use.given;
  options.predictions = use.predictions;
  options.evaluated = use.evaluated;
  options.after_pass = use.after_pass;
  const bool predicts_only = !use.trains && !use.predictions.empty();
  options.entries = !predicts_only;
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(spec, plan.model, plan.chosen.strategy, options));
  if (predicts_only) return OnlyEntries(std::move(program), {kPredictEntry});
  if (use.trains) return program;
  std::vector<std::string> evaluations;
  for (const EntryPoint& entry : program.entries) {
    if (IsUse(entry.name, kEvaluateEntry)) evaluations.push_back(entry.name);
  }
  return OnlyEntries(std::move(program), evaluations);
}

absl::StatusOr<std::unique_ptr<Session>> StartSession(const RunSpec& spec, const RunPlan& plan,
                                                      const TrainingData& data, Program program,
                                                      std::optional<LoadedModel> loaded, const Joining& joining) {
  std::optional<CheckedFile> states;
  std::optional<ExportedWeights> exported;
  ASSIGN_OR_RETURN(const AdapterStates adapters, ReadAdapterStates(spec, program));
  // A file that is read to be evaluated has been trained, adapters included.
  const bool begins = !loaded || loaded->states != States::kEvaluated || !adapters.states.empty();
  if (loaded) {
    ASSIGN_OR_RETURN(states, std::move(loaded->file).Check(program, loaded->states));
  } else if (IsExportedProgram(spec.model().graph())) {
    ASSIGN_OR_RETURN(exported, ExportedWeights::Open(spec, plan.model, program));
    states = exported->states();
  }
  const bool foreign = loaded && loaded->foreign;
  Digests read = DigestsOf(states, exported  ? spec.model().graph()
                                   : foreign ? spec.model().load()
                                   : states  ? states->path()
                                             : "");
  if (!adapters.digest.empty()) read["what the folder of --load-adapter holds"] = adapters.digest;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Join(spec, plan, data, std::move(program), read, joining));
  if (states) {
    std::set<std::string> optional = ClassWeightStates(plan.model.graph);
    if (begins) optional.merge(AdapterNames(plan.model));
    if (foreign) optional.insert(loaded->foreign->missing.begin(), loaded->foreign->missing.end());
    RETURN_IF_ERROR(KeepingClassWeights(plan, *session, [&] { return LoadStates(*session, *states, optional); }));
  }
  RETURN_IF_ERROR(LoadAdapterStates(adapters, *session));
  return session;
}

// Also which checkpoint it is: not all need find the same newest one.
absl::StatusOr<std::unique_ptr<Session>> ResumeSession(const RunSpec& spec, const RunPlan& plan,
                                                       const TrainingData& data, Program program,
                                                       const SavedCheckpoint& checkpoint, const Joining& joining) {
  RETURN_IF_ERROR(CheckStates(checkpoint, program));
  const Digests read = {
      {"the checkpoint of --resume", fmt::format("step {}, {}", checkpoint.record().step, checkpoint.Digest())}};
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Join(spec, plan, data, std::move(program), read, joining));
  RETURN_IF_ERROR(KeepingClassWeights(plan, *session, [&] { return LoadCheckpoint(checkpoint, *session); }));
  return session;
}

}  // namespace partita
