// From a run's description to its session, in a process that may be one of a job: the plan, its program, the start.
#ifndef PARTITA_RUN_START_H_
#define PARTITA_RUN_START_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/given/give_inputs.h"
#include "graph/ir/graph.h"
#include "graph/ir/model.h"
#include "graph/ir/program.h"
#include "partitioner/choose/objective.h"
#include "proto/run.pb.h"
#include "run/beginning/loaded_model.h"
#include "run/job/join_job.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/machine.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"
#include "runtime/train/trainer.h"

namespace partita {

// What a command runs, decided before its data is read.
struct RunPlan {
  Model model;
  std::string graph_hash;  // of the model, before a run sets the length of its schedule
  bool processes = false;  // ranks are processes of a job
  std::optional<Machine> machine;
  ChosenStrategy chosen;
  MachineSpeed speed;
};

// What a command plans for.
struct PlanUse {
  bool runs = true;                    // on the device, which is opened first; false: the plan is all that is wanted
  bool trains = true;                  // false: a schedule that takes its length from training gets some length
  bool exact = false;                  // deterministic, and f32 computed in f32
  std::optional<bool> processes = {};  // whether ranks are processes; unset: as this process's job has it
  Objective objective = {};            // by which a search compares
};

// Reads the model, unless it is given, and chooses the strategy of a description that CheckSpec accepts.
absl::StatusOr<RunPlan> PlanRun(const RunSpec& spec, const PlanUse& use = {},
                                std::optional<Model> given = std::nullopt);

struct ProgramUse {
  GivenForms given = {};                      // the forms of the data
  std::vector<std::string> predictions = {};  // values of the graph, by name
  std::vector<std::string> evaluated = {};    // values with a row for each sample that evaluation also reports
  bool trains = true;                         // false: the program only predicts, or without predictions evaluates
  bool votes = true;                          // processes of a job vote in its steps whether to stop
  // ProgramOptions::after_pass.
  std::function<void(const std::string& pass, const std::string& entry, const Graph& graph)> after_pass = {};
};
absl::StatusOr<Program> ProgramOf(const RunSpec& spec, const RunPlan& plan, const ProgramUse& use);

// Joins the job that there is (JoinJob), and begins with the states of `loaded` if there is such a file, else with the
// weights of the exported program that the model is, if it is one, and with the adapters of --load-adapter; what none
// of them gives is that of --seed. Collective. The file is read before the others are waited for: one that does not
// suit the program is refused first.
absl::StatusOr<std::unique_ptr<Session>> StartSession(const RunSpec& spec, const RunPlan& plan,
                                                      const TrainingData& data, Program program,
                                                      std::optional<LoadedModel> loaded, const Joining& joining);

// The same with the states of a checkpoint; each process reads the parts that its ranks hold.
absl::StatusOr<std::unique_ptr<Session>> ResumeSession(const RunSpec& spec, const RunPlan& plan,
                                                       const TrainingData& data, Program program,
                                                       const SavedCheckpoint& checkpoint, const Joining& joining);

}  // namespace partita

#endif  // PARTITA_RUN_START_H_
