// A session that the shipped trainer trains on random batches which lie ready in memory: what a data set is made from
// is no part of what is measured, its way from a thread beside the step to the ranks is.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAINING_LOOP_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "runtime/api/session.h"
#include "runtime/train/trainer.h"

namespace partita {

// Thread-compatible.
class TrainingLoop {
 public:
  // `model`: its schedule of the learning rate is made long enough for any run. Images go into batches as numbers, or
  // as `program` says that they are given.
  static absl::StatusOr<std::unique_ptr<TrainingLoop>> Create(Model model, const Strategy& strategy,
                                                              const ProgramOptions& program,
                                                              const SessionOptions& session);

  Session& session() { return *session_; }
  const Session& session() const { return *session_; }
  // Of the batches that lie ready.
  int64_t ready_bytes() const { return ready_bytes_; }

  // Runs this number of further steps; `on_step` after each, `pauses` between them, whose steps are counted from 0. The
  // trainer's evaluation behind them and the pauses are no part of the result's seconds.
  absl::StatusOr<TrainingResult> Run(
      int64_t steps, const std::function<void()>& on_step = [] {}, const TrainingPauses& pauses = {});

 private:
  TrainingLoop() = default;

  TrainingData data_;
  int64_t ready_bytes_ = 0;
  std::unique_ptr<Session> session_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAINING_LOOP_H_
