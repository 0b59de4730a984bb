// What flags say of how a model is trained, whatever its file says: optimizer, learning rate, what stays as it is.
#ifndef PARTITA_RUN_PLAN_TRAINING_SETTINGS_H_
#define PARTITA_RUN_PLAN_TRAINING_SETTINGS_H_

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "importer/import_model.h"
#include "proto/run.pb.h"

namespace partita {

// How the run's model is read where it is an exported program: --loss and --freeze-statistics.
ImportOptions ImportOptionsOf(const RunSpec& spec);

// --optimizer, --learning-rate, --schedule, --freeze, --freeze-statistics and those of run/tuning over the model's own.
// FlagError: a value that is none of the optimizer or of the schedule; a pattern that matches no parameter.
absl::StatusOr<Model> WithTrainingSettings(const RunSpec& spec, Model model);

// Takes these flags from a run whose model has been given them; adapters stay to be loaded.
void ForgetTrainingSettings(RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_TRAINING_SETTINGS_H_
