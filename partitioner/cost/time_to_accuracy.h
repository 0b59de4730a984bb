// Whether more devices are better spent on replicas or on splitting each replica's model: S. Pal et al. (docs/papers.md
// 14.2). The time to an accuracy is seconds a step, times steps an epoch, times epochs; larger batches need more
// epochs.
#ifndef PARTITA_PARTITIONER_COST_TIME_TO_ACCURACY_H_
#define PARTITA_PARTITIONER_COST_TIME_TO_ACCURACY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Epochs to the accuracy by global batch: E(B), as measured.
struct EpochPoint {
  int64_t batch = 0;
  double epochs = 0;
};
struct EpochCurve {
  std::string name;
  std::vector<EpochPoint> points;
  std::string source = {};  // the author of the measurement
  int64_t samples = 0;      // of an epoch; 0: not known
};

// kInvalidArgument: less than one point, a batch or epochs that are not positive, batches that do not rise, epochs that
// fall, samples below 0.
absl::Status CheckCurve(const EpochCurve& curve);

// Between two points along the straight line. kInvalidArgument: the curve does not cover the batch.
absl::StatusOr<double> EpochsAt(const EpochCurve& curve, int64_t batch);

// One more point, at its place. kInvalidArgument, and the curve is as it was: it has one for that batch, or CheckCurve
// refuses what it would be.
absl::Status AddPoint(const EpochPoint& point, EpochCurve& curve);

// What training to the accuracy is made of. Of an epoch as many steps are done as it has whole batches.
struct StepsToAccuracy {
  double epochs = 0;
  int64_t steps_per_epoch = 0;

  double steps() const { return epochs * static_cast<double>(steps_per_epoch); }
};
// kInvalidArgument: as EpochsAt; the curve does not say how many samples an epoch has, or it has less than a batch.
absl::StatusOr<StepsToAccuracy> StepsAt(const EpochCurve& curve, int64_t batch);

// One device's step time over that of n replicas: what communication leaves; 1: all of it.
struct ScalingEfficiency {
  double replicas = 1;  // SE of N replicas
  double devices = 1;   // SE of M N replicas of one device each
};

struct TradeOff {
  int replicas = 1;    // N
  int split = 2;       // M, the devices of a replica
  double speedup = 1;  // SU^M, of a step of a replica on M devices
  int64_t batch = 1;   // of a replica
  ScalingEfficiency efficiency;
};

// How much sooner than one device on its own batch, and what decides.
struct Decision {
  double data = 0;    // M N replicas
  double hybrid = 0;  // N replicas of M devices each
  double needed = 0;  // SU^M from which the hybrid is sooner: M (SE_MN / SE_N) (E_N / E_MN)

  bool hybrid_wins(double speedup) const { return speedup > needed; }
};
absl::StatusOr<Decision> Decide(const EpochCurve& curve, const TradeOff& trade);

// E_MN / E_N from which the hybrid is sooner.
double BreakEvenEpochs(int split, double speedup, const ScalingEfficiency& efficiency);

// The least number of devices, of 1, 2, 4, ... times `split`, from which on the hybrid is sooner, up to most_devices;
// nullopt: with the most of them it is not. Efficiency is 1, which favours more replicas. kInvalidArgument: the curve
// does not reach so far.
absl::StatusOr<std::optional<int>> TippingPoint(const EpochCurve& curve, int split, double speedup, int64_t batch,
                                                int most_devices);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_TIME_TO_ACCURACY_H_
