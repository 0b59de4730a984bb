// Ends training after some epochs without a better result of the test set: --patience.
#ifndef PARTITA_RUN_TRAIN_PATIENCE_H_
#define PARTITA_RUN_TRAIN_PATIENCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "proto/run.pb.h"
#include "runtime/train/metrics.h"
#include "runtime/train/model_record.h"
#include "runtime/train/trainer.h"

namespace partita {

// The number by which --patience and --save-best compare evaluations: the first of the graph's accuracies, else the
// loss.
BestScore ScoreOf(const Graph& forward, double test_loss, const Metrics& test_metrics);

// All processes of a job take the same scores, and so decide alike. Thread-compatible.
class Patience {
 public:
  // None without the flag. `before`: what the run that is resumed knew; none: nothing. FlagError: the data has no test
  // set.
  static absl::StatusOr<std::optional<Patience>> Read(const RunSpec& spec, const TrainingData& data,
                                                      const std::optional<Stagnation>& before);

  // Of an epoch's evaluation.
  void Take(const BestScore& score);

  bool is_over() const { return stagnation_ && stagnation_->epochs >= epochs_; }
  // None before the first epoch's evaluation.
  const std::optional<Stagnation>& stagnation() const { return stagnation_; }
  // "no better test accuracy for 3 epochs: the best was 0.9123 after epoch 4", where `epoch` was the last.
  std::string ToString(int64_t epoch) const;

 private:
  Patience(int64_t epochs, const std::optional<Stagnation>& before) : epochs_(epochs), stagnation_(before) {}

  int64_t epochs_;
  std::optional<Stagnation> stagnation_;
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_PATIENCE_H_
