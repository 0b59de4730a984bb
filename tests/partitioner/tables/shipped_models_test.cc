// What searches find on the tables of shipped models: layer by layer the best of all plans; of Inception-V3 on two GPUs
// a placement whose forward is proven to be the best, and one of a step that is nearly.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "ops/registry.h"
#include "partitioner/choose/place_step.h"
#include "partitioner/search/layerwise_search.h"
#include "partitioner/search/placement_search.h"
#include "partitioner/tables/layer_tables.h"
#include "partitioner/tables/stage_tables.h"
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

// Two V100 with six NVLinks each (tools/clusters/dgx1_v100.pbtxt).
Cluster TwoGpus() {
  DeviceKind kind{"v100", BackendKind::kCuda, int64_t{32} << 30, 900e9, {{DType::kF32, 15.7e12}}};
  kind.launch_seconds = 2e-6;
  kind.compute_capability = 70;
  return HostOf(kind, 2, {Fabric::kNvlink, 120e9, 0.6e-6, 12});
}

// Of ops that read each other, without transfers.
double LongestWay(const PlacementGraph& graph) {
  std::vector<double> end(graph.ops.size(), 0);
  double longest = 0;
  for (size_t op = 0; op < end.size(); ++op) {
    for (const PlacedEdge& edge : graph.edges) {
      if (edge.to == static_cast<int>(op)) end[op] = std::max(end[op], end[edge.from]);
    }
    end[op] += graph.ops[op].seconds;
    longest = std::max(longest, end[op]);
  }
  return longest;
}

TEST(InceptionV3, PlacementOnTwoGpus) {
  const auto model = MakeModel("inception-v3", {}, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto layers = FindLayers(model->graph, Ops());
  ASSERT_TRUE(layers.ok()) << layers.status();
  const Cluster cluster = TwoGpus();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  LayerCosts costs(*layers, GroupMesh(1, 2), basis);
  const auto whole = WholeLayers::Of(costs);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const PlacementTable table = PlacementTableOf(*whole, StepPart::kForward);
  PlacementLimits limits;
  limits.bytes = kNever;
  const auto forward = PlacementSearch(table.graph, limits);
  ASSERT_TRUE(forward.ok()) << forward.status();
  EXPECT_EQ(forward->Gap(), 0);
  // No device may begin an op before those that it reads have ended: that alone allows no more than 1.32 times one
  // device's speed, however many there are and however fast their links.
  const double speedup = SerialSeconds(table.graph) / forward->seconds;
  const double most = SerialSeconds(table.graph) / LongestWay(table.graph);
  EXPECT_LT(most, 1.32);
  EXPECT_LE(speedup, most);
  EXPECT_GT(speedup, 0.99 * most);
  const auto step = PlaceStep(*whole, 2, kNever);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_LE(step->Gap(), 0.02);
}

INSTANTIATE_TEST_SUITE_P(Models, ShippedModels,
                         testing::Values(Case{"mlp", 2}, Case{"mlp", 4}, Case{"lenet5", 2}, Case{"lenet5", 4}));

}  // namespace
}  // namespace partita
