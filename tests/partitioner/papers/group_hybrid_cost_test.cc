// The golden table of docs/papers.md 3.2, to 0.1 %.
#include "tests/partitioner/papers/group_hybrid_cost.h"

#include <gtest/gtest.h>

#include "tests/partitioner/papers/shipped_layers.h"

namespace partita {
namespace {

constexpr AlphaBeta kLink = {5e-6, 1 / 10e9};

struct Row {
  int groups, members;
  double milliseconds, megabytes;  // 0: not told
};

void ExpectRows(const std::string& network, const std::vector<Row>& rows) {
  const std::vector<Layer> layers = ShippedLayers(network);
  for (const Row& row : rows) {
    const GroupHybridCost cost = CostOfGroups(layers, row.groups, row.members, 256, kLink);
    EXPECT_NEAR(cost.seconds() * 1e3, row.milliseconds, std::max(0.005, 1e-3 * row.milliseconds))
        << network << " " << row.groups << " x " << row.members;
    if (row.megabytes == 0) continue;
    EXPECT_NEAR(cost.weight_bytes / 1e6, row.megabytes, 0.05);
  }
}

TEST(GroupHybridCost, GoldenTable) {
  ExpectRows("vgg-16", {{8, 1, 97.48, 553.4}, {4, 2, 49.33, 306.1}, {2, 4, 27.21, 182.5}, {1, 8, 20.03, 120.7}});
  ExpectRows("vgg-16", {{16, 1, 104.61, 0}, {8, 2, 55.82, 0}, {4, 4, 32.40, 0}, {2, 8, 22.64, 0}, {1, 16, 21.64, 0}});
  ExpectRows("alexnet", {{8, 1, 43.10, 0}, {4, 2, 20.35, 0}, {2, 4, 10.01, 0}, {1, 8, 6.89, 0}});
}

TEST(GroupHybridCost, OfOneGroup) {
  const GroupHybridCost cost = CostOfGroups(ShippedLayers("vgg-16"), 1, 8, 256, kLink);
  EXPECT_NEAR(cost.convolutions * 1e3, 10.84, 0.005);
  EXPECT_EQ(cost.dense, 0);
  EXPECT_NEAR(cost.activations * 1e3, 9.19, 0.005);
}

}  // namespace
}  // namespace partita
