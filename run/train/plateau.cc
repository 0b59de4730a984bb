#include "run/train/plateau.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "graph/ir/generated_name.h"
#include "run/host/log.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kThreshold = 1e-4;  // relative

template <typename T>
void Set(double value, HostTensor& scalar) {
  const T number = static_cast<T>(value);
  std::memcpy(scalar.bytes.data(), &number, sizeof(T));
}

template <typename T>
double Get(const HostTensor& scalar) {
  T number;
  std::memcpy(&number, scalar.bytes.data(), sizeof(T));
  return static_cast<double>(number);
}

double NumberOf(const HostTensor& scalar) {
  return scalar.dtype == DType::kF64 ? Get<double>(scalar) : Get<float>(scalar);
}

}  // namespace

absl::StatusOr<std::optional<Plateau>> Plateau::Read(const Model& model, const TrainingData& data,
                                                     const std::optional<Stagnation>& before) {
  if (model.learning_rate.schedule != "plateau") return std::nullopt;
  if (data.test == nullptr) {
    return InvalidArgument(
        "learning_rate.schedule is 'plateau', which follows the loss of a test set, and the data has "
        "none; expected another schedule, or a test set");
  }
  return Plateau(model.learning_rate, before);
}

bool Plateau::Take(double test_loss) {
  const bool better =
      !stagnation_ || test_loss < stagnation_->best.value - kThreshold * std::abs(stagnation_->best.value);
  if (better) {
    stagnation_ = {{"loss", test_loss}, 0};
    return false;
  }
  if (++stagnation_->epochs < rate_.patience) return false;
  stagnation_->epochs = 0;
  const double before = factor_;
  const double least = rate_.base > 0 ? std::min(1.0, rate_.final / rate_.base) : 1;
  factor_ = std::max(factor_ * rate_.decay, least);
  return factor_ != before;
}

absl::Status Plateau::ReadFactor(const Session& session) {
  ASSIGN_OR_RETURN(const HostTensor scalar, session.ReadState(kRateFactorName));
  factor_ = NumberOf(scalar);
  return absl::OkStatus();
}

TrainingPauses Plateau::Pauses(Session& session) {
  TrainingPauses pauses;
  pauses.on_evaluation = [this, &session](int64_t /*step*/, const EpochResult& epoch) -> absl::Status {
    if (!epoch.test_loss || epoch.done < epoch.of || !Take(*epoch.test_loss)) return absl::OkStatus();
    ASSIGN_OR_RETURN(HostTensor scalar, session.ReadState(kRateFactorName));
    scalar.dtype == DType::kF64 ? Set<double>(factor_, scalar) : Set<float>(factor_, scalar);
    factor_ = NumberOf(scalar);  // as a run that resumes reads it
    if (session.local_ranks().front() == 0) {
      Tell("no better test loss for {} epochs: the learning rate falls to {:.3g}", rate_.patience,
           rate_.base * factor_);
    }
    return session.WriteState(kRateFactorName, scalar);
  };
  return pauses;
}

}  // namespace partita
