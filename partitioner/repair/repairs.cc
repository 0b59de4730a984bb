#include "partitioner/repair/repairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "partitioner/repair/changes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class RepairFinder {
 public:
  explicit RepairFinder(const RepairRequest& request) : request_(request) {}

  std::vector<Repair> Find() {
    TryMicroBatches(request_.strategy, "");
    if (const std::optional<Strategy> parts = WithUpdatesInParts(request_.program, request_.strategy)) {
      const std::string change = "optimizer state in parts";
      if (!Try(change, *parts)) TryMicroBatches(*parts, change + ", ");
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
    Repair& repair = tried_.emplace_back(Repair{std::move(change), {}, strategy.status(), 0, 0});
    if (!strategy.ok()) return false;
    repair.strategy = *strategy;
    const absl::StatusOr<Prediction> prediction = request_.predict(*strategy);
    repair.status = prediction.ok() ? prediction->fits : prediction.status();
    if (!prediction.ok()) return false;
    repair.seconds = prediction->seconds;
    repair.memory_bytes = prediction->memory_bytes;
    return repair.status.ok();
  }

  // Up to the first that fits, and no further than each needs less than the one before.
  void TryMicroBatches(const Strategy& strategy, const std::string& before) {
    std::optional<int64_t> least;
    for (const int64_t count : MoreMicroBatches(request_.forward, strategy)) {
      if (Try(fmt::format("{}{} micro-batches", before, count), WithMicroBatches(strategy, count))) return;
      const Repair& tried = tried_.back();
      if (tried.seconds == 0 || (least && tried.memory_bytes >= *least)) return;
      least = tried.memory_bytes;
    }
  }

  void TrySizes(const std::vector<ReplicaSizes>& all) {
    for (const ReplicaSizes& sizes : all) {
      const std::string change = fmt::format("{} {} of {} {}", sizes.data, sizes.data == 1 ? "replica" : "replicas",
                                             sizes.model, sizes.model == 1 ? "rank" : "ranks");
      if (Try(change, WithReplicas(request_.forward, request_.strategy, sizes))) return;
    }
  }

  const RepairRequest& request_;
  std::vector<Repair> tried_;
};

}  // namespace

std::vector<Repair> FindRepairs(const RepairRequest& request) { return RepairFinder(request).Find(); }

}  // namespace partita
