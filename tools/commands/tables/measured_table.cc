// What clusters of this kind were measured to do by others, beside what is predicted for the shipped ones. Nothing here
// was used to fit anything: the clusters' speeds are data sheets' and NCCL's own.
#include "tools/commands/tables/measured_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/cost/group_cost.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/proto_io/cluster_io.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "tools/clusters/shipped_clusters.h"
#include "tools/commands/tables/tables.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr char kLeftOut[] =
    "left out: Inception-V3 on 8 P100 (7.96 times one) and on 8 A100 with PCIe (7.9), of which no cluster is shipped;\n"
    "          on 8 A100 with TensorFlow 2.3 without XLA (4.35), where the host is the limit; GNMT on any (V100, "
    "A100,\n"
    "          H200; TensorFlow's pipelines), which is not among the shipped models\n";

constexpr int64_t kSamples = 64;  // of a device
constexpr int64_t kGigabyte = 1 << 30;

// All of a node's devices, or the first of them, communicate with each other.
struct MeasuredAllReduce {
  const char* cluster;
  int devices;
  int64_t bytes;
  double bus_bytes_per_second;  // 2 (n - 1) / n bytes / seconds; 0: `seconds` is what was measured
  double seconds;
  const char* source;
};
constexpr MeasuredAllReduce kAllReduces[] = {
    {"hgx_h200", 8, 8 * kGigabyte, 480e9, 0, "8 H100 with the same links, nccl-tests 212"},
    {"dgx_a100", 2, kGigabyte, 208e9, 0, "nccl-tests 178"},
    {"dgx_a100", 2, 8, 0, 10.1e-6, "nccl 583"},
};

// Samples a second over those of one device, each with its own samples.
struct MeasuredSpeedup {
  const char* cluster;
  const char* model;
  int devices;
  double speedup;
  const char* source;
};
constexpr MeasuredSpeedup kSpeedups[] = {
    {"dgx_a100", "inception-v3", 8, 7.85, "Lambda, TensorFlow with XLA"},
    {"hgx_h200", "resnet-50", 8, 7.95, "Lambda, PyTorch"},
};

absl::StatusOr<Cluster> Shipped(const std::string& name) {
  return ParseCluster(ShippedClusters().at(name), ProtoFormat::kText, name);
}

absl::StatusOr<GradedPoint> Grade(const MeasuredAllReduce& measured) {
  ASSIGN_OR_RETURN(const Cluster cluster, Shipped(measured.cluster));
  std::vector<int> group(static_cast<size_t>(measured.devices));
  std::iota(group.begin(), group.end(), 0);
  const auto bytes = static_cast<double>(measured.bytes);
  const double seconds = GroupSeconds(cluster, CollectiveKind::kAllReduce, bytes, {group}, 0);
  const std::string what =
      fmt::format("{}: all_reduce of {} bytes, {} GPUs", cluster.name, measured.bytes, measured.devices);
  if (measured.bus_bytes_per_second == 0) {
    return GradedPoint{what, "us", 1e6 * seconds, 1e6 * measured.seconds, measured.source};
  }
  const double bus = 2.0 * (measured.devices - 1) / measured.devices * bytes / seconds;
  return GradedPoint{what, "GB/s", bus / 1e9, measured.bus_bytes_per_second / 1e9, measured.source};
}

absl::StatusOr<double> StepSeconds(const std::string& name, const Cluster& cluster, int devices) {
  ModelOptions options;
  options.batch = kSamples * devices;
  ASSIGN_OR_RETURN(const Model model, MakeModel(name, options, Ops()));
  ASSIGN_OR_RETURN(const Strategy strategy, DataModelStrategy(model.graph, devices, 1));
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Backend::OpenToPlan(devices, Spread::kThreads, {}));
  const KernelTimes none_measured;
  PlanBasis basis{model, Ops(), cluster, none_measured, backend->kernels()};
  basis.program.speed = SpeedOf(cluster, devices);
  basis.schedule.speed = basis.program.speed;
  ASSIGN_OR_RETURN(const PredictedPlan plan, PredictPlan(basis, strategy));
  return plan.step.seconds();
}

absl::StatusOr<GradedPoint> Grade(const MeasuredSpeedup& measured) {
  ASSIGN_OR_RETURN(const Cluster cluster, Shipped(measured.cluster));
  ASSIGN_OR_RETURN(const double alone, StepSeconds(measured.model, cluster, 1));
  ASSIGN_OR_RETURN(const double together, StepSeconds(measured.model, cluster, measured.devices));
  const std::string what = fmt::format("{}: {} on {} GPUs", cluster.name, measured.model, measured.devices);
  return GradedPoint{what, "times", measured.devices * alone / together, measured.speedup, measured.source};
}

absl::StatusOr<std::string> Print() {
  ASSIGN_OR_RETURN(const std::vector<GradedPoint> points, GradeMeasured());
  std::string text = kLeftOut;
  text += fmt::format("{:<52} {:>9} {:>9}       {:>7}\n", "", "predicted", "measured", "error");
  std::vector<double> errors;
  for (const GradedPoint& point : points) {
    text += fmt::format("{:<52} {:9.2f} {:9.2f} {:<5} {:+6.1f} %  {}\n", point.what, point.predicted, point.measured,
                        point.unit, 100 * point.error(), point.source);
    errors.push_back(std::abs(point.error()));
  }
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  return text + fmt::format("errors: mean {:.1f} %, median {:.1f} %, worst {:.1f} %\n", 100 * mean,
                            100 * Median(errors), 100 * *std::ranges::max_element(errors));
}

}  // namespace

absl::StatusOr<std::vector<GradedPoint>> GradeMeasured() {
  std::vector<GradedPoint> points;
  for (const MeasuredAllReduce& measured : kAllReduces) {
    ASSIGN_OR_RETURN(GradedPoint point, Grade(measured));
    points.push_back(std::move(point));
  }
  for (const MeasuredSpeedup& measured : kSpeedups) {
    ASSIGN_OR_RETURN(GradedPoint point, Grade(measured));
    points.push_back(std::move(point));
  }
  return points;
}

PaperTable MeasuredTable() { return {"measured", "what others measured, beside what is predicted", Print}; }

}  // namespace partita
