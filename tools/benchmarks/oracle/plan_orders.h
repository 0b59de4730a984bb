// Whether plans that are predicted to be faster are faster: six plans of a network on as many ranks, measured in turns.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_ORDERS_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_ORDERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/oracle/oracle_options.h"

namespace partita {

struct OrderedPlan {
  std::string plan;        // the search that found it, and the mesh
  double predicted = 0;    // seconds of a step
  double median = 0;       // of the rounds
  Interval measured = {};  // 95 % of that median
};

struct PlanOrder {
  std::string model;
  int ranks = 2;
  std::vector<OrderedPlan> plans;  // the fastest by prediction first

  int pairs() const { return static_cast<int>(plans.size() * (plans.size() - 1) / 2); }
  // Pairs whose intervals have nothing in common, and of these the ones that are predicted the other way round.
  int told_apart() const;
  std::vector<std::string> inversions() const;
};

// The plan that --search=auto finds for a machine that is measured first, and the five next ones that differ from it
// and from each other; fewer where there are none. Kernels of all of them are measured.
absl::StatusOr<std::vector<PlanOrder>> MeasurePlanOrders(const OracleOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_ORDERS_H_
