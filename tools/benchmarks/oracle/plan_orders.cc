#include "tools/benchmarks/oracle/plan_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/oracle/kind_terms.h"
#include "tools/benchmarks/oracle/plan_pool.h"
#include "tools/benchmarks/oracle/round_drift.h"
#include "tools/benchmarks/oracle/timed_training.h"
#include "tools/commands/calibrate/measure_machine.h"
#include "tools/commands/calibrate/settled_search.h"

namespace partita {
namespace {

constexpr size_t kPlans = 6;
// Of the fastest: what takes longer says nothing that a plan in between does not, and takes the time of the others.
// Left out as long as there are enough of those.
constexpr double kMostTimes = 4;
// All kernels of the pool are timed in steps that last so long together, and again before it is chosen from; those of
// the chosen plans in every round. A machine whose cores others use as well is another one from second to second: plans
// that one look finds far apart are not, and there are as many looks as last so long together, and at least three.
constexpr double kSecondsOfPool = 0.1, kSecondsOfLooks = 0.5;
constexpr double kFewestOfPool = 2, kMostOfPool = 20;  // steps
constexpr double kFewestLooks = 3, kMostLooks = 5;
constexpr int64_t kMostTurns = 10;

std::string KeyOf(const NamedPlan& plan) { return PrintStrategy(plan.strategy, ProtoFormat::kText); }

struct Case {
  NamedPlan plan;
  std::string key;     // KeyOf
  double seconds = 0;  // predicted, to choose by
  std::unique_ptr<TimedTraining> training;
  int64_t steps = 1;  // of a round
  std::vector<double> predicted, measured;
  PredictedKinds kinds;
};

class Orderer {
 public:
  Orderer(const Model& model, int ranks, const OracleOptions& options)
      : model_(model), ranks_(ranks), options_(options) {}

  absl::StatusOr<std::vector<OrderedPlan>> Run(const std::string& name) {
    const std::string where = fmt::format("{} on {} ranks", name, ranks_);
    options_.progress(where + ": choosing plans");
    ASSIGN_OR_RETURN(backend_, Backend::OpenToPlan(ranks_, Spread::kThreads, OracleSession(ranks_)));
    ASSIGN_OR_RETURN(std::vector<Case> cases, Choose());
    for (Case& one : cases) {
      ASSIGN_OR_RETURN(one.training, TimedTraining::Start(model_, one.plan.strategy));
      ASSIGN_OR_RETURN(one.steps, one.training->StepsFor(options_));
    }
    for (int64_t round = 0; round < options_.rounds; ++round) {
      options_.progress(fmt::format("{}: round {} of {}", where, round + 1, options_.rounds));
      RETURN_IF_ERROR(PredictAll(cases));
      RETURN_IF_ERROR(MeasureAll(cases));
    }
    return Finish(std::move(cases));
  }

 private:
  absl::Status Calibrate(std::span<const Strategy> strategies, int64_t steps) {
    const CalibrationOptions options{OracleProgram(ranks_), OracleSession(ranks_), steps, /*replicas=*/1,
                                     /*collectives=*/false};
    ASSIGN_OR_RETURN(const Profile profile, MeasureMachine(model_, strategies, options));
    ASSIGN_OR_RETURN(cluster_, ClusterOf(profile, /*processes=*/false));
    times_ = KernelTimesFor(profile, ranks_);
    return absl::OkStatus();
  }

  absl::StatusOr<PredictedPlan> Predict(const Strategy& strategy) const {
    const PlanBasis basis{
        model_, Ops(), cluster_, times_, backend_->kernels(), OracleProgram(ranks_), backend_->schedule_options()};
    return PredictPlan(basis, strategy);
  }

  // By a few steps, which also say of how many steps the others are and how many looks there are.
  absl::Status CalibrateFirst(const Strategy& replicas) {
    RETURN_IF_ERROR(Calibrate({&replicas, 1}, static_cast<int64_t>(kFewestOfPool)));
    ASSIGN_OR_RETURN(const PredictedPlan quick, Predict(replicas));
    const double seconds = quick.step.seconds();
    const double steps = std::clamp(std::ceil(kSecondsOfPool / seconds), kFewestOfPool, kMostOfPool);
    looks_ = static_cast<int>(std::clamp(std::ceil(kSecondsOfLooks / (steps * seconds)), kFewestLooks, kMostLooks));
    pool_steps_ = static_cast<int64_t>(steps);
    return steps > kFewestOfPool ? Calibrate({&replicas, 1}, pool_steps_) : absl::OkStatus();
  }

  // What the search finds, and what differs from it. Kernels of what is new are measured, and it searches again,
  // until it finds what it knows: of others it has a guess.
  absl::StatusOr<std::vector<Case>> Choose() {
    ASSIGN_OR_RETURN(const Strategy replicas, DataModelStrategy(model_.graph, ranks_, 1));
    RETURN_IF_ERROR(CalibrateFirst(replicas));
    std::map<std::string, NamedPlan> plans;  // by key
    std::map<std::string, int> names;        // how many have them
    std::string found;
    for (int search = 0; search < kMostSearches; ++search) {
      ASSIGN_OR_RETURN(std::vector<NamedPlan> candidates, Candidates());
      found = KeyOf(candidates[0]);
      if (plans.contains(found)) break;
      std::vector<Strategy> fresh;
      for (NamedPlan& plan : candidates) {
        const std::string key = KeyOf(plan);
        if (plans.contains(key)) continue;
        if (const int count = ++names[plan.name]; count > 1) plan.name += fmt::format(", {}", count);
        fresh.push_back(plan.strategy);
        plans.emplace(key, std::move(plan));
      }
      const KernelTimes known = std::move(times_);
      RETURN_IF_ERROR(Calibrate(fresh, pool_steps_));
      times_.insert(known.begin(), known.end());
    }
    plans.at(found).name += " (found)";
    return Chosen(std::move(plans), found);
  }

  // The first one is what the search finds.
  absl::StatusOr<std::vector<NamedPlan>> Candidates() const {
    const ChooseRequest request{.model = model_,
                                .ranks = ranks_,
                                .searches = {std::begin(kSearches), std::end(kSearches)},
                                .basis = {Ops(), cluster_, times_},
                                .program = OracleProgram(ranks_),
                                .kernels = backend_->kernels(),
                                .schedule = backend_->schedule_options()};
    ASSIGN_OR_RETURN(const std::vector<Finalist> finalists, ChooseStrategy(request));
    std::vector<NamedPlan> plans;
    for (const Finalist& finalist : finalists) {
      const Candidate& candidate = finalist.candidate;
      if (finalist.status.ok()) {
        plans.push_back({fmt::format("{} {}", Name(candidate.search), candidate.plan), candidate.strategy});
      }
    }
    for (NamedPlan& plan : PlanPool(model_.graph, ranks_)) {
      const absl::StatusOr<PredictedPlan> predicted = Predict(plan.strategy);
      if (predicted.ok() && predicted->fits.ok()) plans.push_back(std::move(plan));
    }
    return plans;
  }

  absl::StatusOr<std::vector<Case>> Chosen(std::map<std::string, NamedPlan> plans, const std::string& found) {
    std::vector<Case> cases;
    std::vector<Strategy> strategies;
    for (auto& [key, plan] : plans) {
      strategies.push_back(plan.strategy);
      cases.push_back({std::move(plan), key, 0, nullptr, 1, {}, {}, {}});
    }
    std::vector<std::vector<double>> looks(cases.size());
    // The first one is that by which the search found what it knew.
    for (int look = 0; look < looks_; ++look) {
      if (look > 0) RETURN_IF_ERROR(Calibrate(strategies, pool_steps_));
      for (size_t c = 0; c < cases.size(); ++c) {
        ASSIGN_OR_RETURN(const PredictedPlan predicted, Predict(strategies[c]));
        looks[c].push_back(predicted.step.seconds());
      }
    }
    for (size_t c = 0; c < cases.size(); ++c) cases[c].seconds = Median(std::move(looks[c]));
    std::ranges::stable_sort(cases, {}, &Case::seconds);
    const double most = std::max(kMostTimes * cases[0].seconds, cases[std::min(cases.size(), kPlans) - 1].seconds);
    std::erase_if(cases, [&](const Case& one) { return one.seconds > most && one.key != found; });
    std::vector<double> seconds;
    for (const Case& one : cases) seconds.push_back(one.seconds);
    const auto kept = std::ranges::find(cases, found, &Case::key) - cases.begin();
    std::vector<Case> chosen;
    for (const size_t place : FurthestApart(seconds, static_cast<size_t>(kept), kPlans)) {
      chosen.push_back(std::move(cases[place]));
    }
    return chosen;
  }

  absl::Status PredictAll(std::vector<Case>& cases) {
    std::vector<Strategy> strategies;
    int64_t steps = cases[0].steps;
    for (const Case& one : cases) {
      strategies.push_back(one.plan.strategy);
      steps = std::min(steps, one.steps);
    }
    RETURN_IF_ERROR(Calibrate(strategies, steps));
    for (Case& one : cases) {
      ASSIGN_OR_RETURN(const PredictedPlan predicted, Predict(one.plan.strategy));
      one.predicted.push_back(predicted.step.seconds());
      one.kinds.Add(predicted.step, predicted.program);
    }
    return absl::OkStatus();
  }

  // In the turns of that which has the most; others have the fewer steps in each.
  static absl::Status MeasureAll(std::vector<Case>& cases) {
    int64_t turns = 1;
    for (const Case& one : cases) turns = std::max(turns, TurnsOf(one.steps, kMostTurns).count);
    std::vector<std::vector<double>> seconds(cases.size());
    for (int64_t turn = 0; turn < turns; ++turn) {
      for (size_t c = 0; c < cases.size(); ++c) {
        const int64_t steps = (cases[c].steps + turns - 1) / turns;
        ASSIGN_OR_RETURN(seconds[c].emplace_back(), cases[c].training->Run(steps));
      }
    }
    for (size_t c = 0; c < cases.size(); ++c) cases[c].measured.push_back(Median(std::move(seconds[c])));
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<OrderedPlan>> Finish(std::vector<Case> cases) {
    std::vector<std::vector<double>> predicted, measured;
    for (Case& one : cases) {
      predicted.push_back(std::move(one.predicted));
      measured.push_back(std::move(one.measured));
    }
    predicted = WithoutDrift(std::move(predicted));
    measured = WithoutDrift(std::move(measured));
    std::vector<OrderedPlan> plans;
    for (size_t c = 0; c < cases.size(); ++c) {
      ASSIGN_OR_RETURN(KindSeconds measured_kinds, cases[c].training->Kinds());
      plans.push_back({std::move(cases[c].plan.name), Median(std::move(predicted[c])), Median(measured[c]),
                       MedianInterval(std::move(measured[c])), cases[c].kinds.Medians(), std::move(measured_kinds)});
    }
    std::ranges::stable_sort(plans, {}, &OrderedPlan::predicted);
    return plans;
  }

  const Model& model_;
  const int ranks_;
  const OracleOptions& options_;
  int64_t pool_steps_ = 1;
  int looks_ = 1;
  Cluster cluster_;
  KernelTimes times_;
  std::unique_ptr<Backend> backend_;
};

bool Apart(const OrderedPlan& a, const OrderedPlan& b) {
  return a.measured.high < b.measured.low || b.measured.high < a.measured.low;
}

}  // namespace

double OrderedPlan::error() const { return std::abs(predicted - median) / median; }

int PlanOrder::told_apart() const {
  int count = 0;
  for (size_t a = 0; a < plans.size(); ++a) {
    for (size_t b = a + 1; b < plans.size(); ++b) count += Apart(plans[a], plans[b]) ? 1 : 0;
  }
  return count;
}

std::vector<std::string> PlanOrder::inversions() const {
  std::vector<std::string> found;
  for (size_t a = 0; a < plans.size(); ++a) {
    for (size_t b = a + 1; b < plans.size(); ++b) {
      const bool predicted = plans[a].predicted < plans[b].predicted;
      if (predicted && Apart(plans[a], plans[b]) && plans[b].median < plans[a].median) {
        found.push_back(fmt::format("'{}' before '{}'", plans[b].plan, plans[a].plan));
      }
    }
  }
  return found;
}

absl::StatusOr<PlanOrder> MeasurePlanOrder(const MeasuredModel& model, int ranks, const OracleOptions& options) {
  ASSIGN_OR_RETURN(const Model made, OracleModel(model));
  ASSIGN_OR_RETURN(std::vector<OrderedPlan> plans, Orderer(made, ranks, options).Run(model.name));
  return PlanOrder{model.name, ranks, std::move(plans)};
}

}  // namespace partita
