#include "tools/commands/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<SweepWay> WaysOf(const SweepOptions& options) {
  std::vector<SweepWay> ways;
  for (int devices = 1; devices <= options.most_devices; devices *= 2) {
    for (int split = 1; split <= std::min(devices, options.largest_split); split *= 2) ways.push_back({devices, split});
  }
  return ways;
}

enum class Larger : uint8_t { kUncompared, kUnknown, kLoses, kWins };

// Whether a larger replica is the best way to use so many devices. Unknown: one device a replica can be run, and
// nothing says what it is worth.
Larger LargerOn(const Sweep& sweep, int devices) {
  std::optional<double> single, larger;
  for (const SweepPoint& point : sweep.points) {
    if (point.way.devices != devices) continue;
    if (point.way.split == 1 && sweep.IsUncovered(point)) return Larger::kUnknown;
    const std::optional<double> worth = sweep.WorthOf(point);
    if (!worth) continue;
    std::optional<double>& best = point.way.split == 1 ? single : larger;
    best = std::max(best.value_or(0), *worth);
  }
  if (!larger) return Larger::kUncompared;
  return !single || *larger > *single ? Larger::kWins : Larger::kLoses;
}

// From the most devices downwards, as long as larger replicas win.
std::optional<int> TippingOf(const Sweep& sweep) {
  std::optional<int> tipping;
  for (auto point = sweep.points.rbegin(); point != sweep.points.rend(); ++point) {
    const Larger larger = LargerOn(sweep, point->way.devices);
    if (larger == Larger::kUncompared) continue;
    if (larger != Larger::kWins) break;
    tipping = point->way.devices;
  }
  return tipping;
}

}  // namespace

std::optional<double> Sweep::WorthOf(const SweepPoint& point) const {
  if (!point.refused.empty()) return std::nullopt;
  return options.curve ? point.sooner : std::optional(point.speedup);
}

bool Sweep::IsUncovered(const SweepPoint& point) const {
  return options.curve && point.refused.empty() && !point.sooner;
}

std::vector<int64_t> Sweep::UncoveredBatches() const {
  std::set<int64_t> batches;
  for (const SweepPoint& point : points) {
    if (IsUncovered(point)) batches.insert(point.batch);
  }
  return {batches.begin(), batches.end()};
}

const SweepPoint& Sweep::Base() const {
  return *std::ranges::find_if(points, [](const SweepPoint& point) { return point.refused.empty(); });
}

std::string Sweep::BaseName() const {
  const int devices = Base().way.devices;
  return devices == 1 ? "one device" : fmt::format("{} devices", devices);
}

const SweepPoint& Sweep::Best() const {
  return *std::ranges::max_element(points, {}, [&](const SweepPoint& point) { return WorthOf(point).value_or(0); });
}

absl::StatusOr<Sweep> MakeSweep(const SweepOptions& options, const PredictStep& predict) {
  Sweep sweep{options, {}, std::nullopt};
  absl::Status first_refusal;
  std::optional<double> base_speed, base_epochs;
  for (const SweepWay& way : WaysOf(options)) {
    SweepPoint point{way, way.replicas() * options.replica_batch, 0, 0, 0, std::nullopt, std::nullopt, "", ""};
    const absl::StatusOr<PredictedStep> step = predict(way, point.batch);
    if (!step.ok()) {
      first_refusal.Update(step.status());
      point.refused = std::string(step.status().message());
      sweep.points.push_back(std::move(point));
      continue;
    }
    point.step_seconds = step->seconds;
    point.exposed_seconds = step->exposed_seconds;
    point.flags = step->flags;
    const double speed = static_cast<double>(point.batch) / step->seconds;
    if (!base_speed) base_speed = speed;
    point.speedup = speed / *base_speed;
    if (options.curve) {
      const absl::StatusOr<double> epochs = EpochsAt(*options.curve, point.batch);
      if (!base_epochs) {
        RETURN_IF_ERROR(WithContext("curve '" + options.curve->name + "'", epochs.status()));
        base_epochs = *epochs;
      }
      if (epochs.ok()) {
        point.epochs = *epochs;
        point.sooner = point.speedup * *base_epochs / *epochs;
      }
    }
    sweep.points.push_back(std::move(point));
  }
  if (!base_speed) return first_refusal;
  sweep.tipping = TippingOf(sweep);
  return sweep;
}

}  // namespace partita
