#include "run/train/model_saver.h"

#include <utility>

#include "run/beginning/adapter_states.h"
#include "runtime/base/status.h"

namespace partita {
ModelSaver::ModelSaver(const RunSpec& spec, const Session& session, const Model& model, ModelRecord record,
                       const std::optional<Patience>& patience, const std::optional<Plateau>& plateau)
    : spec_(spec),
      session_(session),
      model_(model),
      record_(std::move(record)),
      patience_(patience),
      plateau_(plateau),
      best_(record_.training->best) {}

TrainingPauses ModelSaver::Pauses() {
  TrainingPauses pauses;
  pauses.next = [every = spec_.saving().save_every()](int64_t step) { return every > 0 ? every - step % every : 0; };
  pauses.on_steps = [this](int64_t step, const LossSums&) { return Save(step); };
  pauses.on_evaluation = [this](int64_t step, const EpochResult& epoch) { return KeepBest(step, epoch); };
  return pauses;
}

absl::Status ModelSaver::Save(int64_t step) {
  if (saved_ == step) return absl::OkStatus();
  saved_ = step;
  if (spec_.saving().has_save_adapter()) RETURN_IF_ERROR(SaveAdapterStates(spec_, model_, session_));
  return spec_.saving().has_save() ? Write(spec_.saving().save(), step) : absl::OkStatus();
}

absl::Status ModelSaver::KeepBest(int64_t step, const EpochResult& epoch) {
  if (!spec_.saving().has_save_best() || !epoch.test_loss) return absl::OkStatus();
  const BestScore score = ScoreOf(model_.graph, *epoch.test_loss, epoch.test_metrics);
  if (best_ && !best_->IsBeatenBy(score)) return absl::OkStatus();
  best_ = score;
  return Write(spec_.saving().save_best(), step);
}

absl::Status ModelSaver::Write(const std::string& path, int64_t step) {
  return SaveModel(session_, model_, Record(step), spec_.saving().save_weights_only(), path);
}

ModelRecord ModelSaver::Record(int64_t step) const {
  ModelRecord record = record_;
  record.training->step = step;
  record.training->best = best_;
  record.training->stagnation = patience_ ? patience_->stagnation() : std::nullopt;
  record.training->plateau = plateau_ ? plateau_->stagnation() : std::nullopt;
  return record;
}

}  // namespace partita
