// Lowers the learning rate after some epochs without a better test loss: the schedule plateau.
#ifndef PARTITA_RUN_TRAIN_PLATEAU_H_
#define PARTITA_RUN_TRAIN_PLATEAU_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "runtime/api/session.h"
#include "runtime/train/model_record.h"
#include "runtime/train/trainer.h"

namespace partita {

// The rate is the schedule's times a factor, which is a state of the program (kRateFactorName), so files of the model
// have it. All processes of a job take the same losses, and so write the same factor. Thread-compatible.
class Plateau {
 public:
  // None of other schedules. `before`: what the run that is resumed knew; none: nothing. kInvalidArgument: the data has
  // no test set.
  static absl::StatusOr<std::optional<Plateau>> Read(const Model& model, const TrainingData& data,
                                                     const std::optional<Stagnation>& before);
  Plateau(const LearningRate& rate, const std::optional<Stagnation>& before) : rate_(rate), stagnation_(before) {}

  // Of an epoch's evaluation: whether the factor is another one now. A loss is better if it is lower by more than a
  // ten-thousandth, as in PyTorch's ReduceLROnPlateau.
  bool Take(double test_loss);

  double factor() const { return factor_; }
  // None before the first epoch's evaluation.
  const std::optional<Stagnation>& stagnation() const { return stagnation_; }

  // Collective: the factor of the session's states.
  absl::Status ReadFactor(const Session& session);
  // Takes losses and writes the factor. Both arguments of the result must outlive it.
  TrainingPauses Pauses(Session& session);

 private:
  LearningRate rate_;
  std::optional<Stagnation> stagnation_;
  double factor_ = 1;
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_PLATEAU_H_
