#include "partitioner/cost/time_to_accuracy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status CheckCurve(const EpochCurve& curve) {
  if (curve.points.empty()) return InvalidArgument("it has no points; at least one is needed");
  if (curve.samples < 0) {
    return InvalidArgument("samples: an epoch has {} of them; 0 (not known) or more are needed", curve.samples);
  }
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const EpochPoint& point = curve.points[i];
    if (point.batch < 1 || !std::isfinite(point.epochs) || point.epochs <= 0) {
      return InvalidArgument("point {}: batch {} needs {}; numbers greater than 0 are needed", i, point.batch,
                             Counted(point.epochs, "epoch"));
    }
    if (i == 0) continue;
    const EpochPoint& before = curve.points[i - 1];
    if (point.batch <= before.batch) {
      return InvalidArgument("point {}: batch {} follows batch {}; batches must rise", i, point.batch, before.batch);
    }
    if (point.epochs < before.epochs) {
      return InvalidArgument("point {}: batch {} needs {}, less than the {} of batch {}; they may not fall", i,
                             point.batch, Counted(point.epochs, "epoch"), before.epochs, before.batch);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> EpochsAt(const EpochCurve& curve, int64_t batch) {
  RETURN_IF_ERROR(CheckCurve(curve));
  const EpochPoint &first = curve.points.front(), &last = curve.points.back();
  if (batch < first.batch || batch > last.batch) {
    return InvalidArgument("it has no point for a batch of {}, only from {} to {}; beyond them nothing is known", batch,
                           first.batch, last.batch);
  }
  size_t i = 0;
  while (curve.points[i].batch < batch) ++i;
  const EpochPoint& above = curve.points[i];
  if (above.batch == batch) return above.epochs;
  const EpochPoint& below = curve.points[i - 1];
  const double share = static_cast<double>(batch - below.batch) / static_cast<double>(above.batch - below.batch);
  return below.epochs + share * (above.epochs - below.epochs);
}

absl::Status AddPoint(const EpochPoint& point, EpochCurve& curve) {
  const auto place = std::ranges::lower_bound(curve.points, point.batch, {}, &EpochPoint::batch);
  if (place != curve.points.end() && place->batch == point.batch) {
    return InvalidArgument("it has a point for a batch of {} already: {}", point.batch,
                           Counted(place->epochs, "epoch"));
  }
  EpochCurve longer = curve;
  longer.points.insert(longer.points.begin() + (place - curve.points.begin()), point);
  RETURN_IF_ERROR(CheckCurve(longer));
  curve = std::move(longer);
  return absl::OkStatus();
}

absl::StatusOr<StepsToAccuracy> StepsAt(const EpochCurve& curve, int64_t batch) {
  ASSIGN_OR_RETURN(const double epochs, EpochsAt(curve, batch));
  if (curve.samples == 0) {
    return InvalidArgument("it does not say how many samples an epoch has (samples), so that epochs have no length");
  }
  if (curve.samples < batch) {
    return InvalidArgument("its epochs have {}, less than a batch of {}", Counted(curve.samples, "sample"), batch);
  }
  return StepsToAccuracy{epochs, curve.samples / batch};
}

absl::StatusOr<Decision> Decide(const EpochCurve& curve, const TradeOff& trade) {
  const int devices = trade.split * trade.replicas;
  ASSIGN_OR_RETURN(const double alone, EpochsAt(curve, trade.batch));
  ASSIGN_OR_RETURN(const double of_replicas, EpochsAt(curve, trade.batch * trade.replicas));
  ASSIGN_OR_RETURN(const double of_devices, EpochsAt(curve, trade.batch * devices));
  const ScalingEfficiency& efficiency = trade.efficiency;
  Decision decision;
  decision.data = efficiency.devices * devices * alone / of_devices;
  decision.hybrid = trade.speedup * efficiency.replicas * trade.replicas * alone / of_replicas;
  decision.needed = trade.split * (efficiency.devices / efficiency.replicas) * (of_replicas / of_devices);
  return decision;
}

double BreakEvenEpochs(int split, double speedup, const ScalingEfficiency& efficiency) {
  return split * (efficiency.devices / efficiency.replicas) / speedup;
}

absl::StatusOr<std::optional<int>> TippingPoint(const EpochCurve& curve, int split, double speedup, int64_t batch,
                                                int most_devices) {
  RETURN_IF_ERROR(CheckCurve(curve));
  std::optional<int> tipping;
  for (int64_t devices = split; devices <= most_devices; devices *= 2) {
    const TradeOff trade{static_cast<int>(devices / split), split, speedup, batch, {}};
    ASSIGN_OR_RETURN(const Decision decision, Decide(curve, trade));
    if (!decision.hybrid_wins(speedup)) {
      tipping.reset();
    } else if (!tipping) {
      tipping = static_cast<int>(devices);
    }
  }
  return tipping;
}

}  // namespace partita
