// How a training run ended, and what was saved of it.
#ifndef PARTITA_RUN_TRAIN_TRAINING_END_H_
#define PARTITA_RUN_TRAIN_TRAINING_END_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "runtime/train/trainer.h"

namespace partita {

// Files are written while the value lives: a program delays its end until then.
using Writing = std::shared_ptr<const void>;
using BeginWriting = std::function<Writing()>;

struct TrainingEnd {
  absl::Status trained;   // why the steps ended early, and where their result is saved; OK: they did not
  absl::Status saved;     // of --save and --checkpoint
  bool is_saved = false;  // the states were valid at the end and `saved` speaks of them
  TrainingResult result;
  std::optional<std::string> stopped_early;  // why --patience ended the run
  Writing writing;                           // began before the last files were written

  const absl::Status& status() const { return trained.ok() ? saved : trained; }
  // finished, interrupted, non_finite or failed
  std::string outcome() const {
    if (status().ok()) return result.stopped_by != 0 ? "interrupted" : "finished";
    return absl::IsOutOfRange(status()) ? "non_finite" : "failed";
  }
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_TRAINING_END_H_
