// The results of `trainer sweep`: how fast a graph trains on 1, 2, 4, ... devices of a cluster, with replicas of one
// device and with larger ones, and from how many devices on larger replicas pay. Steps are simulated, nothing is run.
#ifndef PARTITA_TOOLS_COMMANDS_SWEEP_SWEEP_H_
#define PARTITA_TOOLS_COMMANDS_SWEEP_SWEEP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/cost/time_to_accuracy.h"

namespace partita {

// A way to use this number of devices: replicas of `split` devices each, every one with its own samples.
struct SweepWay {
  int devices = 1;
  int split = 1;

  int replicas() const { return devices / split; }
};

struct SweepPoint {
  SweepWay way;
  int64_t batch = 0;             // of all replicas
  double step_seconds = 0;       // until the slowest rank has ended
  double exposed_seconds = 0;    // of that, communication behind which nothing is computed; of any rank
  double speedup = 0;            // samples a second over those of Sweep::Base
  std::optional<double> epochs;  // to the accuracy; none: there is no curve, or it does not cover the batch
  std::optional<double> sooner;  // the speed-up in time to the accuracy
  std::string flags;             // of `plan` and `train`, which make this plan
  std::string refused;           // why there is no such plan; empty: there is
};

struct SweepOptions {
  int most_devices = 1;
  int largest_split = 2;
  int64_t replica_batch = 1;        // samples of a replica, on however many devices it lies
  std::optional<EpochCurve> curve;  // epochs to an accuracy by batch
};

struct Sweep {
  SweepOptions options;
  std::vector<SweepPoint> points;  // by devices, and by the size of replicas
  // The least number of devices from which on, as far as was looked, larger replicas are better than as many of one
  // device: in time to the accuracy where there is a curve, else in samples a second (WorthOf). None also where the
  // curve does not cover the batch of one device a replica: what it is worth is unknown, not nothing.
  std::optional<int> tipping;

  // The value by which points are compared; none: there is no such plan, or nothing to judge it by.
  std::optional<double> WorthOf(const SweepPoint& point) const;
  // Whether it is a plan of a batch that the curve does not cover; the batches of all those, in order.
  bool IsUncovered(const SweepPoint& point) const;
  std::vector<int64_t> UncoveredBatches() const;
  // The point with the largest value; of equal ones, the one with the fewest devices.
  const SweepPoint& Best() const;
  // The first plan, which all are compared with: one device, or the fewest that hold the graph.
  const SweepPoint& Base() const;
  // "one device", "2 devices".
  std::string BaseName() const;
};

struct PredictedStep {
  double seconds = 0;
  double exposed_seconds = 0;
  std::string flags;  // SweepPoint::flags
};
// Of a way with that batch in all. An error says why there is no such plan.
using PredictStep = std::function<absl::StatusOr<PredictedStep>(const SweepWay& way, int64_t batch)>;

// Where plans are refused, their points say so. kInvalidArgument: the curve does not cover the batch of the first one
// that is not; where all are, the error of the first.
absl::StatusOr<Sweep> MakeSweep(const SweepOptions& options, const PredictStep& predict);

// The title: names the graph and the cluster.
struct SweepTitle {
  std::string model, cluster;
};

// A text table; the same for programs; a page with a diagram.
std::string FormatSweep(const Sweep& sweep, const SweepTitle& title);
std::string SweepToJson(const Sweep& sweep, const SweepTitle& title);
std::string SweepToHtml(const Sweep& sweep, const SweepTitle& title);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_SWEEP_SWEEP_H_
