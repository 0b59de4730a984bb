// What the searches find in the tables of the papers (docs/papers.md 1.6, 3.2, 14.1).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/partitioner/papers/grid_cost.h"
#include "tests/partitioner/papers/group_hybrid_cost.h"
#include "tests/partitioner/papers/layerwise_cost.h"
#include "partitioner/search/grid_search.h"
#include "partitioner/search/layerwise_search.h"
#include "tests/partitioner/papers/shipped_layers.h"

namespace partita {
namespace {

constexpr LayerwiseMachine kMachine = {8e12, 20e9};

// Powers of two whose product is at most `devices`, none larger than what it cuts.
std::vector<LayerDegrees> DegreesOf(const Layer& layer, int devices, int64_t batch) {
  std::vector<LayerDegrees> all;
  for (int n = 1; n <= devices && n <= batch; n *= 2) {
    for (int c = 1; n * c <= devices && c <= layer.output.channels; c *= 2) {
      for (int h = 1; n * c * h <= devices && h <= layer.output.height; h *= 2) {
        for (int w = 1; n * c * h * w <= devices && w <= layer.output.width; w *= 2) all.push_back({n, c, h, w});
      }
    }
  }
  return all;
}

CostTables TablesOf(const std::vector<Layer>& layers, int devices, int64_t batch) {
  CostTables tables;
  std::vector<LayerDegrees> before;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::vector<LayerDegrees> degrees = DegreesOf(layers[i], devices, batch);
    OpTable op{layers[i].name, {}, {}, std::vector<double>(degrees.size(), 0)};
    std::vector<double> edge;
    for (const LayerDegrees& one : degrees) {
      op.configs.push_back("");
      op.seconds.push_back(ComputeSeconds(layers[i], one, batch, kMachine) + SyncSeconds(layers[i], one, kMachine));
    }
    for (const LayerDegrees& from : before) {
      for (const LayerDegrees& to : degrees)
        edge.push_back(TransferOf(layers[i - 1], from, layers[i], to, batch).most_bytes / kMachine.bytes_per_second);
    }
    tables.ops.push_back(std::move(op));
    const int at = static_cast<int>(i);
    if (i > 0) tables.edges.push_back({at - 1, at, std::make_shared<const std::vector<double>>(std::move(edge))});
    before = degrees;
  }
  return tables;
}

double LayerwiseMilliseconds(const std::string& network, int devices, int64_t batch) {
  const auto answer = LayerwiseSearch(TablesOf(ShippedLayers(network), devices, batch));
  EXPECT_TRUE(answer.ok()) << answer.status();
  return 1e3 * answer->seconds;
}

TEST(PaperTables, LayerwiseOptima) {
  EXPECT_NEAR(LayerwiseMilliseconds("alexnet", 4, 128), 18.550, 0.0186);
  EXPECT_NEAR(LayerwiseMilliseconds("vgg-16", 4, 128), 376.979, 0.377);
  EXPECT_NEAR(LayerwiseMilliseconds("vgg-16", 16, 512), 382.877, 0.383);
  EXPECT_LT(LayerwiseMilliseconds("vgg-16", 4, 1), 5.5901) << "rows and channels together beat each alone";
}

GridTables OneClass(const std::function<double(int rows, int columns)>& seconds) {
  return [=](int rows, int columns) { return CostTables{{{"network", {"grid"}, {seconds(rows, columns)}, {0}}}, {}}; };
}

TEST(PaperTables, BestGrids) {
  const std::vector<Layer> layers = ShippedLayers("alexnet-2012");
  const auto expect = [&](GridForm form, bool reduce_scatter, int rows, double milliseconds) {
    const auto answer = GridSearch(512, OneClass([&](int r, int c) {
                                     return GridSeconds(layers, r, c, {2048, form, reduce_scatter}, {2e-6, 1 / 6e9});
                                   }));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->plan.rows, rows);
    EXPECT_NEAR(1e3 * answer->seconds, milliseconds, 1e-3 * milliseconds);
  };
  expect(GridForm::kIntegrated, false, 4, 30.380);
  expect(GridForm::kSamples, false, 32, 11.231);
  expect(GridForm::kDomain, false, 16, 15.028);
  expect(GridForm::kIntegrated, true, 8, 27.682);
  expect(GridForm::kSamples, true, 32, 9.762);
}

TEST(PaperTables, BestGroups) {
  const auto expect = [](const std::string& network, int workers, double milliseconds) {
    const std::vector<Layer> layers = ShippedLayers(network);
    const auto answer = GroupSearch(workers, workers, OneClass([&](int members, int groups) {
                                      return CostOfGroups(layers, groups, members, 256, {5e-6, 1 / 10e9}).seconds();
                                    }));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->plan.columns, 1);
    EXPECT_NEAR(1e3 * answer->seconds, milliseconds, 0.005 + 1e-3 * milliseconds);
  };
  expect("vgg-16", 8, 20.03);
  expect("vgg-16", 16, 21.64);
  expect("alexnet", 8, 6.89);
}

}  // namespace
}  // namespace partita
