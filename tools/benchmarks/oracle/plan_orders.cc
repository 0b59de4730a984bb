#include "tools/benchmarks/oracle/plan_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/profile/quartiles.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/oracle/timed_training.h"
#include "tools/commands/calibrate/measure_kernels.h"
#include "tools/commands/calibrate/measure_machine.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr size_t kPlans = 6;

struct Case {
  OrderedPlan plan;
  Strategy strategy;
  std::unique_ptr<TimedTraining> training;
  std::vector<double> seconds;
};

class Orderer {
 public:
  Orderer(const Model& model, int ranks, const OracleOptions& options)
      : model_(model), ranks_(ranks), options_(options) {}

  absl::StatusOr<std::vector<OrderedPlan>> Run() {
    RETURN_IF_ERROR(Calibrate());
    ASSIGN_OR_RETURN(std::vector<Case> cases, Choose());
    for (int64_t round = 0; round < options_.rounds; ++round) {
      for (Case& one : cases) {
        ASSIGN_OR_RETURN(const double seconds, one.training->Run(options_.steps));
        one.seconds.push_back(seconds);
        RETURN_IF_ERROR(MeasureKernelsOf(one.strategy));
      }
    }
    return Finish(std::move(cases));
  }

 private:
  absl::Status Calibrate() {
    ASSIGN_OR_RETURN(const Strategy replicas, DataModelStrategy(model_.graph, ranks_, 1));
    ASSIGN_OR_RETURN(const Profile profile, MeasureMachine(model_, replicas, {{}, OracleSession(), options_.steps}));
    ASSIGN_OR_RETURN(cluster_, ClusterOf(profile, /*processes=*/false));
    times_ = KernelTimesFor(profile, ranks_);
    ASSIGN_OR_RETURN(backend_, Backend::OpenToPlan(ranks_, Spread::kThreads, OracleSession()));
    return absl::OkStatus();
  }

  // The finalists of all searches, but for those that are the same strategy.
  absl::StatusOr<std::vector<Case>> Choose() const {
    const ChooseRequest request{.model = model_,
                                .ranks = ranks_,
                                .searches = {std::begin(kSearches), std::end(kSearches)},
                                .basis = {Ops(), cluster_, times_},
                                .program = {},
                                .kernels = backend_->kernels(),
                                .schedule = backend_->schedule_options()};
    ASSIGN_OR_RETURN(const std::vector<Finalist> finalists, ChooseStrategy(request));
    std::vector<Case> cases;
    std::set<std::string> known;
    for (const Finalist& finalist : finalists) {
      const Candidate& candidate = finalist.candidate;
      if (!finalist.status.ok() || cases.size() == kPlans) continue;
      if (!known.insert(PrintStrategy(candidate.strategy, ProtoFormat::kText)).second) continue;
      Case one{{fmt::format("{} {}", Name(candidate.search), candidate.plan)}, candidate.strategy, nullptr, {}};
      ASSIGN_OR_RETURN(one.training, TimedTraining::Start(model_, candidate.strategy));
      cases.push_back(std::move(one));
    }
    return cases;
  }

  absl::Status MeasureKernelsOf(const Strategy& strategy) {
    ASSIGN_OR_RETURN(Program program, MakeProgram(model_, strategy, Ops()));
    ASSIGN_OR_RETURN(const MeasuredKernels kernels,
                     MeasureKernels(std::move(program), OracleSession(), options_.steps));
    for (const auto& [signature, measured] : kernels) {
      std::vector<double>& all = kernels_[signature];
      all.insert(all.end(), measured.seconds.begin(), measured.seconds.end());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<OrderedPlan>> Finish(std::vector<Case> cases) {
    for (auto& [signature, seconds] : kernels_) times_[signature] = QuartilesOf(std::move(seconds)).median;
    std::vector<OrderedPlan> plans;
    for (Case& one : cases) {
      const PlanBasis basis{model_, Ops(), cluster_, times_, backend_->kernels(), {}, backend_->schedule_options()};
      ASSIGN_OR_RETURN(const PredictedPlan predicted, PredictPlan(basis, one.strategy));
      one.plan.predicted = predicted.step.seconds();
      one.plan.median = Median(one.seconds);
      one.plan.measured = MedianInterval(std::move(one.seconds));
      plans.push_back(std::move(one.plan));
    }
    std::ranges::stable_sort(plans, {}, &OrderedPlan::predicted);
    return plans;
  }

  const Model& model_;
  const int ranks_;
  const OracleOptions& options_;
  Cluster cluster_;
  KernelTimes times_;
  std::map<std::string, std::vector<double>> kernels_;
  std::unique_ptr<Backend> backend_;
};

bool Apart(const OrderedPlan& a, const OrderedPlan& b) {
  return a.measured.high < b.measured.low || b.measured.high < a.measured.low;
}

}  // namespace

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

absl::StatusOr<std::vector<PlanOrder>> MeasurePlanOrders(const OracleOptions& options) {
  std::vector<PlanOrder> orders;
  for (const std::string& name : options.models) {
    ASSIGN_OR_RETURN(Model model, MakeModel(name, {.batch = options.batch}, Ops()));
    model.learning_rate.steps = 1;
    for (int ranks = 2; ranks <= options.most_ranks; ranks *= 2) {
      ASSIGN_OR_RETURN(std::vector<OrderedPlan> plans, Orderer(model, ranks, options).Run());
      orders.push_back({name, ranks, std::move(plans)});
    }
  }
  return orders;
}

}  // namespace partita
