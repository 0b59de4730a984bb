#include "tools/commands/calibrate/measure_machine.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/profile/crowding.h"
#include "partitioner/profile/op_times.h"
#include "partitioner/profile/quartiles.h"
#include "partitioner/profile/stretch.h"
#include "partitioner/simulate/step_prediction.h"
#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/device/host/spin.h"
#include "runtime/train/graph_fields.h"
#include "tools/commands/calibrate/measure_collectives.h"
#include "tools/commands/calibrate/measure_steps.h"

namespace partita {
namespace {

constexpr int kDevices = 64;  // ranks that the machine is said to take at least

KernelTimes MediansOf(const MeasuredKernels& kernels) {
  KernelTimes times;
  for (const auto& [signature, measured] : kernels) times[signature] = QuartilesOf(measured.seconds).median;
  return times;
}

// Ranks that run on the machine at a time, and threads of each.
struct Company {
  int ranks = 1, threads = 1;
  auto operator<=>(const Company&) const = default;
};

// What was measured in a company.
struct Beside {
  MeasuredKernels kernels;
  std::vector<double> hand_overs;
  double computing = 0;  // ranks at a time, of replicas with kernels of the same shapes as any number of them
  double stretch = 1;    // of steps
};

class Calibration {
 public:
  Calibration(const Model& model, const CalibrationOptions& options) : model_(model), options_(options) {}

  absl::StatusOr<Profile> Run(std::span<const Strategy> strategies) {
    CHECK(!strategies.empty());
    ranks_ = strategies[0].mesh.size();
    RETURN_IF_ERROR(MeasureLinks());
    copied_ = MeasureCopies();
    RETURN_IF_ERROR(MeasureSharing());
    for (size_t s = 0; s < strategies.size(); ++s) {
      options_.progress(fmt::format("strategy {} of {}", s + 1, strategies.size()));
      RETURN_IF_ERROR(MeasureStrategy(strategies[s]));
    }
    TellKernels();
    RETURN_IF_ERROR(DescribeMachine(AsRun(ranks_)));
    RETURN_IF_ERROR(TellOps());
    return std::move(profile_);
  }

 private:
  absl::Status MeasureLinks() {
    for (const bool processes : {false, true}) {
      for (int members = 2; options_.collectives && members <= std::max(ranks_, 2); ++members) {
        // As axes of a mesh can have; and two, by which the link is told.
        if (members != 2 && ranks_ % members != 0) continue;
        options_.progress(fmt::format("collectives among {} {}", members, processes ? "processes" : "threads"));
        ASSIGN_OR_RETURN(std::vector<CollectiveTime> times, MeasureCollectives(members, processes, ThreadsOf(ranks_)));
        const auto pair = std::ranges::find(times, CollectiveKind::kAllReduce, &CollectiveTime::kind);
        if (members == 2 && !processes && pair != times.end()) pairs_[Spin(ranks_)] = pair->fit.cost;
        std::ranges::move(times, std::back_inserter(profile_.collectives));
      }
    }
    return FindPair(ranks_);
  }

  // That compute in all, at least: who does not say how many has so many that they fit, or one each. A rank that is
  // alone finds nobody: of two.
  int64_t ThreadsOf(int ranks) const {
    return int64_t{std::max(ranks, 2)} * std::max(1, options_.session.threads_per_rank);
  }

  // How two of so many find each other, which is the same where they spin as long.
  absl::Status FindPair(int ranks) {
    if (pairs_.contains(Spin(ranks))) return absl::OkStatus();
    ASSIGN_OR_RETURN(pairs_[Spin(ranks)], MeasurePair(ThreadsOf(ranks)));
    return absl::OkStatus();
  }
  std::chrono::microseconds Spin(int ranks) const { return SpinOf(ThreadsOf(ranks)); }

  // Replicas, as a run of so many has them. Where each has other threads than one of all ranks has, as without
  // --threads the fewer ranks have the more, once more with as many: what ranks lose to each other is told among their
  // like.
  absl::Status MeasureSharing() {
    std::vector<int> counts = {ranks_};
    for (int together = 1; together <= std::max(ranks_, options_.replicas); together *= 2) {
      if (together != ranks_) counts.push_back(together);
    }
    for (const int together : counts) {
      options_.progress(together == 1 ? "the graph on one rank" : fmt::format("{} replicas", together));
      RETURN_IF_ERROR(MeasureReplicas(together, options_.session.threads_per_rank));
      if (Alike(together) != AsRun(together)) RETURN_IF_ERROR(MeasureReplicas(together, threads_.at(ranks_)));
    }
    for (const int together : counts) TellSharing(together);
    return absl::OkStatus();
  }

  Company AsRun(int ranks) const { return {ranks, threads_.at(ranks)}; }
  Company Alike(int ranks) const { return {ranks, threads_.at(ranks_)}; }

  absl::Status MeasureReplicas(int together, int threads) {
    ASSIGN_OR_RETURN(const int64_t rows, BatchRows(model_.graph));
    // Kernels of the same shapes, by which to compare; and what steps lose that have the whole batch, as those of a
    // plan have whose other ranks wait meanwhile: a rank that has more to compute loses a smaller part.
    ASSIGN_OR_RETURN(MeasuredSteps measured, MeasureReplicas(together, threads, rows / ranks_));
    const Company company{together, measured.session->threads_per_rank()};
    threads_.try_emplace(together, company.threads);
    const double computing = measured.computing;
    Add(measured, company, 1);
    if (together != ranks_) {
      measured.session.reset();
      ASSIGN_OR_RETURN(measured, MeasureReplicas(together, threads, rows / together));
      Add(measured, company, 1);
    }
    Beside& beside = beside_.at(company);
    beside.computing = computing;
    ASSIGN_OR_RETURN(beside.stretch, FindStretch(company, measured));
    return absl::OkStatus();
  }

  // Each with so many rows, or with one.
  absl::StatusOr<MeasuredSteps> MeasureReplicas(int together, int threads, int64_t rows) {
    ASSIGN_OR_RETURN(const Model model, WithBatch(model_, std::max<int64_t>(1, rows) * together, Ops()));
    ASSIGN_OR_RETURN(const Strategy replicas, DataModelStrategy(model.graph, together, 1));
    return Measure(model, replicas, threads);
  }

  // How many times as long as alone launches of the same kernels take, by what takes most of the time.
  double TimesAlone(int together) const {
    const KernelTimes alone = MediansOf(beside_.at(Alike(1)).kernels);
    double longer = 0, all = 0;
    for (const auto& [signature, seconds] : MediansOf(beside_.at(Alike(together)).kernels)) {
      const auto found = alone.find(signature);
      if (found == alone.end()) continue;
      longer += seconds;
      all += found->second;
    }
    return all == 0 ? 1 : longer / all;
  }

  // By replicas alone: those are all that was measured yet.
  void TellSharing(int together) {
    const Beside &beside = beside_.at(Alike(together)), &alone = beside_.at(Alike(1));
    const double times = TimesAlone(together);
    crowding_.Add(beside.computing, times);
    // Nobody is quicker for company: what seems so is noise.
    profile_.slowdown[together] = together == 1 ? 1 : std::max(1.0, times * beside.stretch / alone.stretch);
  }

  absl::StatusOr<double> FindStretch(Company company, const MeasuredSteps& measured) {
    RETURN_IF_ERROR(FindPair(company.ranks));
    RETURN_IF_ERROR(DescribeMachine(company));
    ASSIGN_OR_RETURN(const Cluster cluster, ClusterOf(profile_, /*processes=*/false));
    const Session& session = *measured.session;
    FoldedSchedules storage;
    ASSIGN_OR_RETURN(const std::vector<const Schedule*> schedules, session.AllSchedules(kTrainEntry, storage));
    ASSIGN_OR_RETURN(const StepPrediction predicted,
                     StepPredictionOf(session.program(), schedules, cluster, MediansOf(measured.kernels)));
    return StretchOf(measured.seconds, predicted.step, predicted.compute);
  }

  // Unless it is the replicas that were measured.
  absl::Status MeasureStrategy(const Strategy& strategy) {
    CHECK(strategy.mesh.size() == ranks_);
    ASSIGN_OR_RETURN(const std::string key, KeyOf(model_, strategy));
    if (measured_.contains(key)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const MeasuredSteps measured, Measure(model_, strategy, options_.session.threads_per_rank));
    // Kernels that outlast their rank's slice of time took as long as they did beside those that computed meanwhile,
    // which are fewer where ranks of a plan wait. They are told as beside replicas.
    const Company all = AsRun(ranks_);
    Add(measured, all, crowding_.At(beside_.at(all).computing) / crowding_.At(measured.computing));
    return absl::OkStatus();
  }

  absl::StatusOr<MeasuredSteps> Measure(const Model& model, const Strategy& strategy, int threads) {
    ASSIGN_OR_RETURN(const std::string key, KeyOf(model, strategy));
    measured_.insert(key);
    SessionOptions session = options_.session;
    session.threads_per_rank = threads;
    return MeasureSteps(model, strategy, options_.program, session, options_.steps);
  }

  // With kernels so many times as long.
  void Add(const MeasuredSteps& measured, Company company, double times) {
    Beside& beside = beside_[company];
    for (const auto& [signature, kernel] : measured.kernels) {
      MeasuredKernel& all = beside.kernels[signature];
      all.op = kernel.op;
      all.work = kernel.work;
      for (const double seconds : kernel.seconds) all.seconds.push_back(times * seconds);
    }
    std::ranges::copy(measured.hand_overs, std::back_inserter(beside.hand_overs));
  }

  static absl::StatusOr<std::string> KeyOf(const Model& model, const Strategy& strategy) {
    ASSIGN_OR_RETURN(const int64_t rows, BatchRows(model.graph));
    return fmt::format("{} {}", rows, PrintStrategy(strategy, ProtoFormat::kText));
  }

  void TellKernels() {
    for (const auto& [ranks, threads] : threads_) {
      const Beside& beside = beside_.at({ranks, threads});
      for (const auto& [signature, measured] : beside.kernels) {
        const Quartiles quartiles = QuartilesOf(measured.seconds);
        profile_.kernels.push_back({signature, ranks, quartiles.median * beside.stretch, quartiles.spread()});
      }
    }
  }

  // As a run of so many ranks finds it.
  absl::Status DescribeMachine(Company company) {
    const int ranks = company.ranks;
    DeviceKind kind{"cores", BackendKind::kHost, MeasureMemory().total, copied_, {}, LeastSeconds(), true, 0};
    kind.wake_seconds = WakeSeconds(company);
    for (const auto& [dtype, most] : MostRates()) {
      if (IsFloating(dtype) && most > 0) kind.flops_per_second[dtype] = TogetherRate(dtype, most);
    }
    if (kind.flops_per_second.empty()) {
      return InvalidArgument("the graph has no convolution and no product whose rate could be measured");
    }
    double best = 0;
    for (const auto& [dtype, rate] : kind.flops_per_second) best = std::max(best, rate);
    kind.flops_per_second.try_emplace(DType::kF32, best);
    const AlphaBeta pair = pairs_.at(Spin(ranks));
    const double bytes_per_second = pair.beta > 0 ? 1 / pair.beta : kind.bytes_per_second;
    DomainDescription host{"host", "", 1, kind.name, std::max(kDevices, ranks_), {}, {}};
    host.within = Link{Fabric::kMemory, bytes_per_second, pair.alpha / 2, 1};
    profile_.machine = {"this-machine", {std::move(kind)}, {std::move(host)}};
    return absl::OkStatus();
  }

  // As the roofline has kernels beside as many ranks.
  absl::Status TellOps() {
    ASSIGN_OR_RETURN(const Cluster cluster, ClusterOf(profile_, /*processes=*/false));
    OpTimes times;
    ForEachKernel([&](Company company, const MeasuredKernel& kernel, double median) {
      const int sharing = RanksSharingCores(cluster, 0, company.ranks);
      times.Add(kernel.op, median * beside_.at(company).stretch,
                RooflineSeconds(kernel.work, cluster.KindOf(0), sharing));
    });
    profile_.machine.kinds[0].op_times = times.Times();
    return absl::OkStatus();
  }

  // Of ranks that have as many threads as one of all.
  void ForEachKernel(const std::function<void(Company, const MeasuredKernel&, double median)>& f) const {
    for (const auto& [company, beside] : beside_) {
      if (company != Alike(company.ranks)) continue;
      for (const auto& [signature, kernel] : beside.kernels) f(company, kernel, QuartilesOf(kernel.seconds).median);
    }
  }

  // One rank alone has one stream and none to wait for: there it is as among the most ranks.
  double WakeSeconds(Company company) const {
    const auto found = beside_.find(company);
    if (found != beside_.end() && !found->second.hand_overs.empty()) return MiddleMean(found->second.hand_overs);
    const std::vector<double>& most = beside_.rbegin()->second.hand_overs;
    return most.empty() ? 0 : MiddleMean(most);
  }

  double LeastSeconds() const {
    double least = std::numeric_limits<double>::infinity();
    ForEachKernel([&](Company, const MeasuredKernel&, double median) { least = std::min(least, median); });
    return least;
  }

  // Of a rank, by any kernel.
  std::map<DType, double> MostRates() const {
    std::map<DType, double> most;
    ForEachKernel([&](Company, const MeasuredKernel& kernel, double median) {
      double& rate = most[kernel.work.dtype];
      rate = std::max(rate, kernel.work.flops / median);
    });
    return most;
  }

  // What all kernels reach together for which the cores, and not the memory, are too slow: with the most that any of
  // them reaches, one that was never measured would seem to be quicker than all that were, and searches would find
  // nothing else. The cores together have the rate of a rank for each that does not wait for the others.
  double TogetherRate(DType dtype, double most) const {
    double flops = 0, seconds = 0;
    ForEachKernel([&](Company, const MeasuredKernel& kernel, double median) {
      const KernelWork& work = kernel.work;
      if (work.dtype != dtype || work.flops / most < work.bytes / copied_) return;
      flops += work.flops * static_cast<double>(kernel.seconds.size());
      seconds += median * static_cast<double>(kernel.seconds.size());
    });
    const auto sharing = profile_.slowdown.find(ranks_);
    return (flops > 0 ? flops / seconds : most) * (sharing == profile_.slowdown.end() ? 1 : ranks_ / sharing->second);
  }

  const Model& model_;
  const CalibrationOptions& options_;
  int ranks_ = 1;
  Profile profile_;
  double copied_ = 0;           // bytes a second
  std::map<int, int> threads_;  // of a rank, by ranks, as a run of so many has them
  std::map<Company, Beside> beside_;
  Crowding crowding_;
  std::map<std::chrono::microseconds, AlphaBeta> pairs_;  // FindPair
  std::set<std::string> measured_;                        // KeyOf
};

}  // namespace

absl::StatusOr<Profile> MeasureMachine(const Model& model, std::span<const Strategy> strategies,
                                       const CalibrationOptions& options) {
  return Calibration(model, options).Run(strategies);
}

}  // namespace partita
