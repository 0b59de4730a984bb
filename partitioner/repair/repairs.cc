#include "partitioner/repair/repairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "partitioner/repair/changes.h"
#include "partitioner/repair/fitting_blocks.h"
#include "partitioner/repair/recompute_tables.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class RepairFinder {
 public:
  explicit RepairFinder(const RepairRequest& request) : request_(request) {}

  std::vector<Repair> Find() {
    FindBlocks();
    const bool again = TryBlocks(request_.strategy, "");
    TryMicroBatches(request_.strategy, "");
    if (const std::optional<Strategy> parts = WithUpdatesInParts(request_.program, request_.strategy)) {
      const std::string change = "optimizer state in parts";
      if (!Try(change, *parts)) {
        if (!again) TryBlocks(*parts, change + ", ");
        TryMicroBatches(*parts, change + ", ");
      }
    }
    TrySizes(LargerReplicas(request_.strategy));
    TrySizes(LargerReplicas(request_.strategy, request_.most_ranks));
    TrySizes(MoreReplicas(request_.strategy, request_.most_ranks));
    std::ranges::stable_sort(tried_, {}, [&](const Repair& repair) { return Worth(repair); });
    return std::move(tried_);
  }

 private:
  // The least is the best.
  std::tuple<int, double> Worth(const Repair& repair) const {
    if (repair.status.ok()) {
      return {repair.strategy.mesh.size() > request_.strategy.mesh.size() ? 1 : 0, repair.seconds};
    }
    return {repair.seconds > 0 ? 2 : 3, static_cast<double>(repair.memory_bytes)};
  }

  // Whether it fits.
  bool Try(std::string change, const absl::StatusOr<Strategy>& strategy) {
    return tried_.emplace_back(Measured(std::move(change), strategy)).status.ok();
  }

  Repair Measured(std::string change, const absl::StatusOr<Strategy>& strategy) const {
    Repair repair{std::move(change), {}, strategy.status(), 0, 0};
    if (!strategy.ok()) return repair;
    repair.strategy = *strategy;
    const absl::StatusOr<Prediction> prediction = request_.predict(*strategy);
    repair.status = prediction.ok() ? prediction->fits : prediction.status();
    if (!prediction.ok()) return repair;
    repair.seconds = prediction->seconds;
    repair.memory_bytes = prediction->memory_bytes;
    return repair;
  }

  void FindBlocks() {
    if (request_.schedule == nullptr || !request_.strategy.recompute.empty()) return;
    costs_ = RecomputeCostsOf(request_.program.graph(kTrainEntry), *request_.schedule, *request_.timeline,
                              StretchesOf(request_.forward));
  }

  // Whether some fit.
  bool TryBlocks(const Strategy& strategy, const std::string& before) {
    std::optional<Repair> repair =
        FittingBlocks(costs_.tables, [&](const RecomputePlan& plan) { return MeasuredBlocks(strategy, plan, before); });
    return repair && tried_.emplace_back(*std::move(repair)).status.ok();
  }

  Repair MeasuredBlocks(const Strategy& strategy, const RecomputePlan& plan, const std::string& before) const {
    Strategy changed = strategy;
    changed.recompute = BlocksOf(costs_.stretches, plan);
    return Measured(before + NameOf(plan), changed);
  }

  // "computed again: conv1 to pool1, conv2 to pool2 and 3 more"
  std::string NameOf(const RecomputePlan& plan) const {
    constexpr size_t kNamed = 2;
    std::string name = "computed again:";
    for (size_t b = 0; b < std::min(kNamed, plan.size()); ++b) {
      const Stretch &first = costs_.stretches[plan[b].first], &last = costs_.stretches[plan[b].last];
      name += fmt::format("{} {} to {}", b == 0 ? "" : ",", first.front(), last.back());
    }
    if (plan.size() > kNamed) name += fmt::format(" and {} more", plan.size() - kNamed);
    return name;
  }

  // Up to the first that fits, and no further than each needs less than the one before.
  void TryMicroBatches(const Strategy& strategy, const std::string& before) {
    std::optional<int64_t> least;
    for (const int64_t count : MoreMicroBatches(request_.forward, strategy)) {
      if (Try(before + Counted(count, "micro-batch"), WithMicroBatches(strategy, count))) return;
      const Repair& tried = tried_.back();
      if (tried.seconds == 0 || (least && tried.memory_bytes >= *least)) return;
      least = tried.memory_bytes;
    }
  }

  void TrySizes(const std::vector<ReplicaSizes>& all) {
    for (const ReplicaSizes& sizes : all) {
      const std::string change = Counted(sizes.data, "replica") + " of " + Counted(sizes.model, "rank");
      if (Try(change, WithReplicas(request_.forward, request_.strategy, sizes))) return;
    }
  }

  const RepairRequest& request_;
  RecomputeCosts costs_;
  std::vector<Repair> tried_;
};

}  // namespace

std::vector<Repair> FindRepairs(const RepairRequest& request) { return RepairFinder(request).Find(); }

}  // namespace partita
