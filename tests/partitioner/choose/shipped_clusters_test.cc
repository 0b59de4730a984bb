// What --search=auto, grid, groups and layerwise choose is never predicted to be slower than what --dp and --mp say,
// for the shipped models on the shipped clusters.
#include "partitioner/clusters/shipped_clusters.h"

#include <gtest/gtest.h>

#include <ostream>

#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Case {
  std::string model, cluster;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.model << " on " << one.cluster; }

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const char* model : {"lenet5", "mlp", "mini-inception"}) {
    for (const auto& [name, cluster] : ShippedClusters()) all.push_back({model, name});
  }
  return all;
}

class ShippedClustersTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    cluster_ = ShippedClusters().at(GetParam().cluster);
    auto model = MakeModel(GetParam().model, {.batch = 64}, Ops());
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    model_.learning_rate.steps = 1;
  }

  std::vector<Finalist> Choose(int ranks, std::set<SearchKind> searches) const {
    const ChooseRequest request{.model = model_,
                                .ranks = ranks,
                                .searches = std::move(searches),
                                .basis = {Ops(), cluster_, times_},
                                .program = {},
                                .kernels = *kernels_,
                                .schedule = {}};
    auto finalists = ChooseStrategy(request);
    EXPECT_TRUE(finalists.ok()) << finalists.status();
    return finalists.ok() ? *std::move(finalists) : std::vector<Finalist>(1);
  }

  double SecondsOf(int data, int model, const DataModelOptions& options = {}) const {
    const auto strategy = DataModelStrategy(model_.graph, data, model, options);
    EXPECT_TRUE(strategy.ok()) << strategy.status();
    const auto plan = PredictPlan({model_, Ops(), cluster_, times_, *kernels_}, *strategy);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan->step.seconds();
  }

  Model model_;
  Cluster cluster_;
  const KernelTimes times_;
  const std::unique_ptr<KernelLibrary> kernels_ = MakeHostKernels({.reference_only = true});
};

TEST_P(ShippedClustersTest, NothingThatFlagsSayIsFaster) {
  DataModelOptions of_groups;
  of_groups.convolutions = LayerSplit::kSamples;
  for (const int ranks : {2, 4}) {
    const double best = Choose(ranks, {std::begin(kSearches), std::end(kSearches)})[0].seconds;
    const double grid = Choose(ranks, {SearchKind::kGrid})[0].seconds;
    EXPECT_LE(Choose(ranks, {SearchKind::kLayerwise})[0].seconds, SecondsOf(ranks, 1));
    const double groups = Choose(ranks, {SearchKind::kGroups})[0].seconds;
    for (int model = 1; model <= ranks; model *= 2) {
      SCOPED_TRACE(ranks);
      SCOPED_TRACE(model);
      const double by_flags = SecondsOf(ranks / model, model);
      EXPECT_LE(best, by_flags);
      EXPECT_LE(grid, by_flags);
      if (model == 1) continue;
      EXPECT_LE(groups, SecondsOf(ranks / model, model, of_groups));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedClustersTest, testing::ValuesIn(AllCases()));

}  // namespace
}  // namespace partita
