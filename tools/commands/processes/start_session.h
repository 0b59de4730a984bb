// From a run's description to its session, in a process that may be one of a job: the plan, its program, the start.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/given/give_inputs.h"
#include "graph/ir/model.h"
#include "graph/ir/program.h"
#include "proto/run.pb.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"
#include "runtime/train/trainer.h"
#include "tools/commands/input/chosen_strategy.h"
#include "tools/commands/input/loaded_model.h"
#include "tools/commands/input/machine.h"

namespace partita {

// What a command runs, decided before its data is read.
struct RunPlan {
  Model model;
  std::string graph_hash;             // of the model, before a run sets the length of its schedule
  std::vector<std::string> warnings;  // that rank 0 logs when the session has started
  bool processes = false;             // this process is one of a job
  std::optional<Machine> machine;
  ChosenStrategy chosen;
  MachineSpeed speed;
};

// Sets up the log, checks the device, then reads the model and chooses the strategy. Errors of flags come before those
// of files.
absl::StatusOr<RunPlan> PlanRun(const RunSpec& spec);

struct ProgramUse {
  GivenForms given = {};  // the forms of the data
  std::vector<std::string> predictions =
      {};             // values of the graph, by name: the program computes them and nothing else
  bool votes = true;  // processes of a job vote in its steps whether to stop
};
absl::StatusOr<Program> ProgramOf(const RunSpec& spec, const RunPlan& plan, const ProgramUse& use);

// Joins the job that there is (JoinJob), and begins with the states of `loaded` if there is such a file; those that it
// does not give are those of --seed. Collective. The file is read before the others are waited for: one that does not
// suit the program is refused first.
absl::StatusOr<std::unique_ptr<Session>> StartSession(const RunSpec& spec, const RunPlan& plan,
                                                      const TrainingData& data, Program program,
                                                      std::optional<LoadedModel> loaded);

// The same with the states of a checkpoint; each process reads the parts that its ranks hold.
absl::StatusOr<std::unique_ptr<Session>> ResumeSession(const RunSpec& spec, const RunPlan& plan,
                                                       const TrainingData& data, Program program,
                                                       const SavedCheckpoint& checkpoint);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_START_SESSION_H_
