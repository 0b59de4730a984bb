#include "tools/commands/calibrate/measure_machine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/profile/quartiles.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"
#include "tools/commands/calibrate/measure_collectives.h"
#include "tools/commands/calibrate/measure_kernels.h"

namespace partita {
namespace {

constexpr int kDevices = 64;  // ranks that the machine is said to take at least

std::vector<KernelTime> TimesOf(const MeasuredKernels& kernels, int ranks) {
  std::vector<KernelTime> times;
  for (const auto& [signature, measured] : kernels) {
    const Quartiles quartiles = QuartilesOf(measured.seconds);
    times.push_back({signature, ranks, quartiles.median, quartiles.spread()});
  }
  return times;
}

// By what takes most of the time.
double SlowdownOf(const std::vector<KernelTime>& together, const std::vector<KernelTime>& alone) {
  std::map<std::string, double> seconds;
  for (const KernelTime& kernel : alone) seconds[kernel.signature] = kernel.seconds;
  double longer = 0, all = 0;
  for (const KernelTime& kernel : together) {
    const auto found = seconds.find(kernel.signature);
    if (found == seconds.end()) continue;
    longer += kernel.seconds;
    all += found->second;
  }
  return all > 0 ? longer / all : 1;
}

class Calibration {
 public:
  Calibration(const Model& model, const CalibrationOptions& options) : model_(model), options_(options) {}

  absl::StatusOr<Profile> Run(const Strategy& strategy) {
    const int ranks = strategy.mesh.size();
    RETURN_IF_ERROR(MeasureStrategy(model_, strategy).status());
    RETURN_IF_ERROR(MeasureSharing(ranks));
    RETURN_IF_ERROR(MeasureLinks(std::max(ranks, 2)));
    RETURN_IF_ERROR(DescribeMachine(ranks));
    return std::move(profile_);
  }

 private:
  absl::StatusOr<std::vector<KernelTime>> MeasureStrategy(const Model& model, const Strategy& strategy) {
    const int ranks = strategy.mesh.size();
    ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), options_.program));
    ASSIGN_OR_RETURN(const MeasuredKernels kernels,
                     MeasureKernels(std::move(program), options_.session, options_.steps));
    for (const auto& [signature, measured] : kernels) AddRates(measured);
    std::vector<KernelTime> times = TimesOf(kernels, ranks);
    for (const KernelTime& kernel : times) {
      if (known_.emplace(kernel.signature, ranks).second) profile_.kernels.push_back(kernel);
    }
    return times;
  }

  // The most that any kernel reaches, and the least that any takes.
  void AddRates(const MeasuredKernel& measured) {
    const double seconds = QuartilesOf(measured.seconds).median;
    double& rate = rates_[measured.work.dtype];
    rate = std::max(rate, measured.work.flops / seconds);
    launch_seconds_ = launch_seconds_ == 0 ? seconds : std::min(launch_seconds_, seconds);
  }

  absl::Status MeasureSharing(int ranks) {
    ASSIGN_OR_RETURN(const int64_t rows, BatchRows(model_.graph));
    const int64_t batch = std::max<int64_t>(1, rows / ranks);
    std::vector<KernelTime> alone;
    for (int together = 1; together <= std::max(ranks, 2); together *= 2) {
      ASSIGN_OR_RETURN(const Model model, WithBatch(model_, batch * together, Ops()));
      ASSIGN_OR_RETURN(const Strategy replicas, DataModelStrategy(model.graph, together, 1));
      ASSIGN_OR_RETURN(std::vector<KernelTime> times, MeasureStrategy(model, replicas));
      if (together == 1) alone = times;
      profile_.slowdown[together] = together == 1 ? 1 : SlowdownOf(times, alone);
    }
    return absl::OkStatus();
  }

  absl::Status MeasureLinks(int ranks) {
    for (const bool processes : {false, true}) {
      for (int members = 2; members <= ranks; ++members) {
        ASSIGN_OR_RETURN(std::vector<CollectiveTime> times, MeasureCollectives(members, processes));
        std::ranges::move(times, std::back_inserter(profile_.collectives));
      }
    }
    return absl::OkStatus();
  }

  absl::Status DescribeMachine(int ranks) {
    DeviceKind kind{"cores", BackendKind::kHost, MeasureMemory().total, MeasureCopies(), {}, launch_seconds_, true, 0};
    double best = 0;
    for (const auto& [dtype, rate] : rates_) best = std::max(best, rate);
    for (const auto& [dtype, rate] : rates_) {
      if (IsFloating(dtype) && rate > 0) kind.flops_per_second[dtype] = rate;
    }
    if (best == 0) return InvalidArgument("the graph has no convolution and no product whose rate could be measured");
    kind.flops_per_second.try_emplace(DType::kF32, best);
    const AlphaBeta pair = FitOfPair();
    const double bytes_per_second = pair.beta > 0 ? 1 / pair.beta : kind.bytes_per_second;
    DomainDescription host{"host", "", 1, kind.name, std::max(kDevices, ranks), {}, {}};
    host.within = Link{Fabric::kMemory, bytes_per_second, pair.alpha / 2, 1};
    profile_.machine = {"this-machine", {std::move(kind)}, {std::move(host)}};
    return absl::OkStatus();
  }

  AlphaBeta FitOfPair() const {
    for (const CollectiveTime& time : profile_.collectives) {
      if (time.kind == CollectiveKind::kAllReduce && time.ranks == 2 && !time.processes) return time.fit.cost;
    }
    return {};
  }

  const Model& model_;
  const CalibrationOptions& options_;
  Profile profile_;
  std::set<std::pair<std::string, int>> known_;
  std::map<DType, double> rates_;
  double launch_seconds_ = 0;
};

}  // namespace

absl::StatusOr<Profile> MeasureMachine(const Model& model, const Strategy& strategy,
                                       const CalibrationOptions& options) {
  return Calibration(model, options).Run(strategy);
}

}  // namespace partita
