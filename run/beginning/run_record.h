// The record of a run in the model file that it writes.
#ifndef PARTITA_RUN_BEGINNING_RUN_RECORD_H_
#define PARTITA_RUN_BEGINNING_RUN_RECORD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "run/beginning/beginning.h"
#include "runtime/train/model_record.h"
#include "runtime/train/trainer.h"

namespace partita {

// Of a run that is at step 0.
ModelRecord RecordOfRun(const RunSpec& spec, const Model& model, const TrainingData& data);

// Resumes a run of `steps` steps in all from the training state, if there is one. kInvalidArgument: training of other
// data, order or optimizer. FlagError: no step is left, and it is not a restart.
absl::Status GoOn(const Beginning& beginning, int64_t steps, TrainingPosition& position);

// What of the recipe is another one than the file's training had: a sentence for each.
std::vector<std::string> ChangesOf(const TrainingPosition& saved, const TrainingPosition& now);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_RUN_RECORD_H_
