// What clusters of this kind were measured to do by others, beside what is predicted for the shipped ones. Nothing here
// was used to fit anything: the clusters' speeds are data sheets' and NCCL's own.
#include "tests/partitioner/papers/tables/measured_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/cost/group_cost.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/tables/simulated_step.h"
#include "tests/partitioner/papers/tables/tables.h"
#include "tools/models/gnmt.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr char kLeftOut[] =
    "left out: Inception-V3 on 8 P100 (7.96 times one) and on 8 A100 with PCIe (7.9), of which no cluster is shipped;\n"
    "          on 8 A100 with TensorFlow 2.3 without XLA (4.35), where the host is the limit; GNMT in fp16 (V100, "
    "A100)\n"
    "          and TF32 (A100), for steps are predicted in f32; on 16 V100 of a DGX-2H, of which no cluster is\n"
    "          shipped; in TensorFlow's pipelines, which are not those of a strategy\n";

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

// Samples a second over those of one device.
struct MeasuredSpeedup {
  const char* cluster;
  const char* model;
  int devices;
  int64_t samples;  // of a device, in one pass
  bool same_batch;  // one device makes as many passes before an update as there are devices
  double speedup;
  const char* source;
};
constexpr MeasuredSpeedup kSpeedups[] = {
    {"dgx_a100", "inception-v3", 8, 64, false, 7.85, "Lambda, TensorFlow with XLA"},
    {"hgx_h200", "resnet-50", 8, 64, false, 7.95, "Lambda, PyTorch"},
    {"hgx_h200", "gnmt", 8, 128, false, 7.87, "Lambda, PyTorch"},
    {"dgx1_v100", "gnmt", 8, 128, true, 7.05, "NVIDIA, PyTorch, fp32, 1024 pairs in all"},
};

// Sentences of translations, by their mean.
constexpr int64_t kWords = 28;

absl::StatusOr<Model> ModelOf(const std::string& name, int64_t batch) {
  if (name != "gnmt") return MakeModel(name, {.batch = batch}, Ops());
  return MakeGnmt({.batch = batch, .source_places = kWords, .target_places = kWords}, Ops());
}

absl::StatusOr<GradedPoint> Grade(const MeasuredAllReduce& measured) {
  const Cluster& cluster = ShippedClusters().at(measured.cluster);
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

absl::StatusOr<double> StepSeconds(const std::string& name, const Cluster& cluster, int devices, int64_t batch,
                                   int64_t passes) {
  ASSIGN_OR_RETURN(const Model model, ModelOf(name, batch));
  ASSIGN_OR_RETURN(Strategy strategy, DataModelStrategy(model.graph, devices, 1));
  strategy.pipeline.micro_batches = passes;
  ASSIGN_OR_RETURN(const StepTimes step, SimulatedStepOf(model, strategy, cluster));
  return step.step;
}

absl::StatusOr<GradedPoint> Grade(const MeasuredSpeedup& measured) {
  const Cluster& cluster = ShippedClusters().at(measured.cluster);
  const int64_t batch = measured.samples * measured.devices, passes = measured.same_batch ? measured.devices : 1;
  ASSIGN_OR_RETURN(const double alone, StepSeconds(measured.model, cluster, 1, passes * measured.samples, passes));
  ASSIGN_OR_RETURN(const double together, StepSeconds(measured.model, cluster, measured.devices, batch, 1));
  const double speedup = static_cast<double>(measured.devices) / static_cast<double>(passes) * alone / together;
  const std::string what = fmt::format("{}: {} on {} GPUs", cluster.name, measured.model, measured.devices);
  return GradedPoint{what, "times", speedup, measured.speedup, measured.source};
}

absl::StatusOr<std::string> Print(const TableSizes&) {
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

PaperTable MeasuredTable() {
  return {"measured", "what others measured, beside what is predicted", false, false, Print};
}

}  // namespace partita
