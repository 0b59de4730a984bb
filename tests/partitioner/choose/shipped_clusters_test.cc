// What a search chooses is never predicted to be slower than what --dp and --mp say, nor than what searches within it
// choose, nor auto than any search: for the shipped models on the shipped clusters.
#include "partitioner/clusters/shipped_clusters.h"

#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "partitioner/choose/ranked_finalists.h"
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

// A plan whose ranks all compute may be as much slower as predictions cannot tell, in place of one with idle ranks.
double Allowed(const Finalist& plan) {
  return plan.seconds * (plan.candidate.idle_ranks > 0 ? 1 + kPredictionError : 1);
}

TEST_P(ShippedClustersTest, NoSearchIsSlowerThanFlagsOrThanASearchWithinIt) {
  DataModelOptions of_groups;
  of_groups.convolutions = LayerSplit::kSamples;
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    const double best = Choose(ranks, {std::begin(kSearches), std::end(kSearches)})[0].seconds;
    std::map<SearchKind, Finalist> by_search;
    for (const SearchKind search : kSearches) by_search[search] = Choose(ranks, {search})[0];
    for (const auto& [search, chosen] : by_search) {
      SCOPED_TRACE(Name(search));
      EXPECT_LE(best, Allowed(chosen));
      for (const SearchKind within : SearchesWithin(search)) EXPECT_LE(chosen.seconds, Allowed(by_search[within]));
      if (search == SearchKind::kData) continue;
      for (int model = 1; model <= ranks; model *= 2) {
        SCOPED_TRACE(model);
        EXPECT_LE(chosen.seconds, SecondsOf(ranks / model, model));
        EXPECT_LE(chosen.seconds, SecondsOf(ranks / model, model, of_groups));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedClustersTest, testing::ValuesIn(AllCases()));

}  // namespace
}  // namespace partita
