#include "partitioner/search/grid_search.h"

#include <algorithm>
#include <utility>

#include "partitioner/search/reason.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A grid, or why it has no plan.
struct Candidate {
  GridPlan plan;
  double seconds = kNever, bytes = 0, lower_bound = kNever;
  absl::Status status;
};

absl::StatusOr<Answer<Configs>> ModesOn(const absl::StatusOr<CostTables>& tables, double bytes) {
  RETURN_IF_ERROR(tables.status());
  return LayerwiseSearch(*tables, bytes);
}

Candidate Try(int rows, int columns, const GridTables& tables, double bytes) {
  Candidate candidate{{rows, columns, {}}, kNever, 0, kNever, {}};
  absl::StatusOr<Answer<Configs>> modes = ModesOn(tables(rows, columns), bytes);
  candidate.status = modes.status();
  if (!modes.ok()) return candidate;
  candidate.plan.modes = std::move(modes->plan);
  candidate.seconds = modes->seconds;
  candidate.bytes = modes->bytes;
  candidate.lower_bound = modes->lower_bound;
  return candidate;
}

Rejected Reject(const Candidate& candidate, double best) {
  const double slower = 1e6 * (candidate.seconds - best);
  std::string reason = slower > 0 ? fmt::format("slower by {:.4g} us", slower) : "as fast";
  if (!candidate.status.ok()) reason = std::string(candidate.status.message());
  return {fmt::format("{} x {}", candidate.plan.rows, candidate.plan.columns), candidate.seconds, candidate.bytes,
          std::move(reason)};
}

Answer<GridPlan> AnswerOf(const Candidate& candidate) {
  return {{candidate.seconds, candidate.bytes, candidate.lower_bound, {}}, candidate.plan};
}

// Of the grids, none of which has a plan.
absl::Status WhyNone(int ranks, const std::vector<Candidate>& all) {
  absl::Status reason;
  for (const Candidate& candidate : all) {
    const GridPlan& plan = candidate.plan;
    UpdateReason(reason, WithContext(fmt::format("no grid of {}, not even {} x {}", Counted(ranks, "rank"), plan.rows,
                                                 plan.columns),
                                     candidate.status));
  }
  return reason;
}

absl::StatusOr<GridAnswer> BestOf(int ranks, int most_rows, const GridTables& tables, double bytes) {
  std::vector<Candidate> all;
  for (int rows = 1; rows <= std::min(ranks, most_rows); ++rows) {
    if (ranks % rows == 0) all.push_back(Try(rows, ranks / rows, tables, bytes));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  const Candidate& best = all.front();
  if (!best.status.ok()) return WhyNone(ranks, all);
  GridAnswer answer{AnswerOf(best), {}};
  for (const Candidate& candidate : all) answer.lower_bound = std::min(answer.lower_bound, candidate.lower_bound);
  for (size_t i = 1; i < all.size(); ++i) {
    answer.rejected.push_back(Reject(all[i], best.seconds));
    if (all[i].status.ok()) answer.others.push_back(AnswerOf(all[i]));
  }
  return answer;
}

}  // namespace

absl::StatusOr<GridAnswer> GridSearch(int ranks, const GridTables& tables, double bytes) {
  return GroupSearch(ranks, ranks, tables, bytes);
}

absl::StatusOr<GridAnswer> GroupSearch(int ranks, int domain, const GridTables& tables, double bytes) {
  if (ranks < 1 || domain < 1)
    return InvalidArgument("a grid of {} ranks in domains of {}: at least one of both is needed", ranks, domain);
  absl::StatusOr<GridAnswer> answer = BestOf(ranks, domain, tables, bytes);
  const bool fits = answer.ok() || answer.status().code() != absl::StatusCode::kResourceExhausted;
  return fits || domain >= ranks ? answer : BestOf(ranks, ranks, tables, bytes);
}

}  // namespace partita
