// Whether plans that are predicted to be faster are faster: six plans of a network on as many ranks, measured in turns.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_ORDERS_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_ORDERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/explain/kind_seconds.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/models/measured_models.h"
#include "tools/benchmarks/oracle/oracle_options.h"

namespace partita {

struct OrderedPlan {
  std::string plan;                                       // a description for display
  double predicted = 0;                                   // seconds of a step; median of the calibrations
  double median = 0;                                      // of the rounds, WithoutDrift as the predictions are
  Interval measured = {};                                 // 95 % of that median
  KindSeconds predicted_kinds = {}, measured_kinds = {};  // of a step's launches, also medians

  double error() const;  // |predicted - median| / median
};

struct PlanOrder {
  std::string model;
  int ranks = 2;
  std::vector<OrderedPlan> plans;  // the fastest by prediction first

  int pairs() const { return static_cast<int>(plans.size() * (plans.size() - 1) / 2); }
  // Pairs whose intervals have nothing in common, and of these the ones that are predicted the other way round.
  int told_apart() const;
  std::vector<std::string> inversions() const;
  // Of 15 pairs at least 10 are told apart, of fewer as many in proportion, and none is predicted the other way round.
  int needed() const { return (2 * pairs() + 2) / 3; }
  bool holds() const { return told_apart() >= needed() && inversions().empty(); }
};

// The plan that --search=auto finds for a machine that is measured first, and five other plans that searches and users
// try (PlanPool), with predictions spread as widely as possible; fewer if there are not as many. Calibrations, by
// kernels of all of them, and measurements take turns.
absl::StatusOr<PlanOrder> MeasurePlanOrder(const MeasuredModel& model, int ranks, const OracleOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_ORDERS_H_
