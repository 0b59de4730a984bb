// What the layer-wise search finds on the tables of shipped models is the best of all plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "ops/registry.h"
#include "partitioner/search/layerwise_search.h"
#include "partitioner/tables/layer_tables.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/models.h"

namespace partita {
namespace {

// All plans, but those that begin slower than the best one ended.
class AllPlans {
 public:
  explicit AllPlans(const CostTables& tables) : tables_(tables), configs_(tables.ops.size()) { Try(0, 0); }
  double best() const { return best_; }

 private:
  void Try(size_t op, double before) {
    if (before >= best_) return;
    if (op == configs_.size()) {
      best_ = before;
      return;
    }
    for (int config = 0; config < tables_.configs(static_cast<int>(op)); ++config) {
      configs_[op] = config;
      double seconds = before + tables_.ops[op].seconds[config];
      for (const EdgeTable& edge : tables_.edges) {
        if (std::max(edge.from, edge.to) != static_cast<int>(op)) continue;
        seconds += (*edge.seconds)[configs_[edge.from] * tables_.configs(edge.to) + configs_[edge.to]];
      }
      Try(op + 1, seconds);
    }
  }

  const CostTables& tables_;
  std::vector<int> configs_;
  double best_ = kNever;
};

struct Case {
  std::string model;
  int ranks = 2;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.model << " on " << one.ranks; }

class ShippedModels : public testing::TestWithParam<Case> {};

TEST_P(ShippedModels, LayerwiseSearchIsExactOnTheirTables) {
  const auto model = MakeModel(GetParam().model, {}, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto layers = FindLayers(model->graph, Ops());
  ASSERT_TRUE(layers.ok()) << layers.status();
  const Cluster cluster = FourDevices();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  LayerCosts costs(*layers, PrimeMesh(GetParam().ranks), basis);
  const auto tables = MakeLayerTables(costs);
  ASSERT_TRUE(tables.ok()) << tables.status();
  const auto answer = LayerwiseSearch(tables->tables);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(answer->seconds, AllPlans(tables->tables).best(), 1e-12);
  EXPECT_EQ(answer->seconds, answer->lower_bound);
}

INSTANTIATE_TEST_SUITE_P(Models, ShippedModels,
                         testing::Values(Case{"mlp", 2}, Case{"mlp", 4}, Case{"lenet5", 2}, Case{"lenet5", 4}));

}  // namespace
}  // namespace partita
