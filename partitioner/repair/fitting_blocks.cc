#include "partitioner/repair/fitting_blocks.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace partita {
namespace {

constexpr size_t kMostForAll = 5;  // stretches: 88 plans

bool IsQuicker(const Repair& repair, const Repair& than) { return repair.status.ok() && repair.seconds < than.seconds; }

// Whether the plan that needs least fits is known.
Repair QuickestOfAll(const RecomputeTables& tables, const MeasureBlocks& measure, Repair least) {
  std::vector<RecomputePlan> plans = AllRecomputePlans(static_cast<int>(tables.stretches.size()));
  std::ranges::stable_sort(plans, {}, [&](const RecomputePlan& plan) { return RecomputeSeconds(tables, plan); });
  for (const RecomputePlan& plan : plans) {
    if (plan.empty()) continue;
    Repair repair = measure(plan);
    if (repair.status.ok()) return IsQuicker(repair, least) ? repair : least;
  }
  return least;
}

// The plan with one block less, or with one stretch less in a block.
std::vector<RecomputePlan> Smaller(const RecomputePlan& plan) {
  std::vector<RecomputePlan> smaller;
  for (size_t b = 0; b < plan.size(); ++b) {
    smaller.push_back(plan);
    smaller.back().erase(smaller.back().begin() + static_cast<std::ptrdiff_t>(b));
    if (plan.size() == 1) smaller.pop_back();
    if (plan[b].first == plan[b].last) continue;
    smaller.push_back(plan);
    ++smaller.back()[b].first;
    smaller.push_back(plan);
    --smaller.back()[b].last;
  }
  return smaller;
}

class Halving {
 public:
  Halving(const RecomputeTables& tables, const MeasureBlocks& measure, std::vector<Answer<RecomputePlan>> plans,
          Repair least)
      : tables_(tables), measure_(measure), plans_(std::move(plans)), best_(std::move(least)) {
    plan_ = plans_.back().plan;
  }

  Repair Run() {
    size_t first = 0, last = plans_.size() - 1;  // of those among which the first that fits is
    while (first < last) {
      const size_t middle = first + (last - first) / 2;
      const bool fits = Try(plans_[middle].plan);
      (fits ? last : first) = fits ? middle : middle + 1;
    }
    while (left_ > 0 && Improve()) {
    }
    return std::move(best_);
  }

 private:
  // Whether it fits.
  bool Try(const RecomputePlan& plan) {
    Repair repair = measure_(plan);
    const bool fits = repair.status.ok();
    if (!IsQuicker(repair, best_)) return fits;
    best_ = std::move(repair);
    plan_ = plan;
    return true;
  }

  // The quickest first.
  bool Improve() {
    std::vector<RecomputePlan> smaller = Smaller(plan_);
    std::ranges::stable_sort(smaller, {}, [&](const RecomputePlan& plan) { return RecomputeSeconds(tables_, plan); });
    for (const RecomputePlan& plan : smaller) {
      if (left_-- == 0) return false;
      if (Try(plan)) return true;
    }
    return false;
  }

  const RecomputeTables& tables_;
  const MeasureBlocks& measure_;
  const std::vector<Answer<RecomputePlan>> plans_;
  Repair best_;
  RecomputePlan plan_;  // of the best
  int left_ = 12;       // plans to try yet when all others were
};

}  // namespace

std::optional<Repair> FittingBlocks(const RecomputeTables& tables, const MeasureBlocks& measure) {
  constexpr int kPlans = 256;
  std::vector<Answer<RecomputePlan>> plans = RecomputePlans(tables, kPlans);
  std::erase_if(plans, [](const Answer<RecomputePlan>& plan) { return plan.plan.empty(); });
  if (plans.empty()) return std::nullopt;
  Repair least = measure(plans.back().plan);
  if (!least.status.ok()) return least;
  if (tables.stretches.size() <= kMostForAll) return QuickestOfAll(tables, measure, std::move(least));
  return Halving(tables, measure, std::move(plans), std::move(least)).Run();
}

}  // namespace partita
