// Writes the model of a training run: --save, --save-adapter, --save-every, --save-best, --save-weights-only.
#ifndef PARTITA_RUN_TRAIN_MODEL_SAVER_H_
#define PARTITA_RUN_TRAIN_MODEL_SAVER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "run/train/patience.h"
#include "run/train/plateau.h"
#include "runtime/api/session.h"
#include "runtime/train/model_file.h"
#include "runtime/train/trainer.h"

namespace partita {

// Saves are collective. All arguments must outlive it.
class ModelSaver {
 public:
  ModelSaver(const RunSpec& spec, const Session& session, const Model& model, ModelRecord record,
             const std::optional<Patience>& patience, const std::optional<Plateau>& plateau);

  // While training: writes the same file every N steps, and another one when a test result is the best so far.
  TrainingPauses Pauses();

  // At the end: --save and --save-adapter, if that step is not what they hold already.
  absl::Status Save(int64_t step);

  // What a file that goes on says at that step.
  ModelRecord Record(int64_t step) const;
  const Model& model() const { return model_; }

 private:
  absl::Status Write(const std::string& path, int64_t step);
  absl::Status KeepBest(int64_t step, const EpochResult& epoch);

  const RunSpec& spec_;
  const Session& session_;
  const Model& model_;
  ModelRecord record_;
  const std::optional<Patience>& patience_;
  const std::optional<Plateau>& plateau_;
  std::optional<BestScore> best_;
  std::optional<int64_t> saved_;  // the step that --save and --save-adapter hold
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_MODEL_SAVER_H_
