// The golden table of docs/papers.md 1.6, to 0.1 %.
#include "tests/partitioner/papers/grid_cost.h"

#include <gtest/gtest.h>

#include "tests/partitioner/papers/shipped_layers.h"

namespace partita {
namespace {

constexpr AlphaBeta kLink = {2e-6, 1 / 6e9};
constexpr int kRanks = 512;

struct Column {
  GridForm form;
  bool reduce_scatter;
};
constexpr Column kColumns[] = {{GridForm::kIntegrated, false},
                               {GridForm::kSamples, false},
                               {GridForm::kDomain, false},
                               {GridForm::kIntegrated, true},
                               {GridForm::kSamples, true}};

double Milliseconds(const std::vector<Layer>& layers, int rows, const Column& column) {
  return 1e3 * GridSeconds(layers, rows, kRanks / rows, {2048, column.form, column.reduce_scatter}, kLink);
}

TEST(GridCost, GoldenTable) {
  struct Row {
    int rows;
    double milliseconds[5];  // 0: not told
  };
  constexpr Row kRows[] = {
      {1, {83.283, 83.283, 83.283, 83.283, 83.283}},    {2, {44.863, 44.325, 44.747, 44.155, 44.272}},
      {4, {30.380, 25.025, 25.849, 28.269, 24.873}},    {8, {32.586, 15.730, 17.359, 27.682, 15.387}},
      {16, {52.578, 11.789, 15.028, 42.104, 11.069}},   {32, {100.345, 11.231, 17.688, 78.744, 9.762}},
      {64, {199.765, 13.771, 26.665, 155.926, 10.810}}, {512, {1608.572, 65.295, 168.312, 0, 0}}};
  const std::vector<Layer> layers = ShippedLayers("alexnet-2012");
  for (const Row& row : kRows) {
    for (size_t c = 0; c < std::size(kColumns); ++c) {
      const double expected = row.milliseconds[c];
      if (expected == 0) continue;
      EXPECT_NEAR(Milliseconds(layers, row.rows, kColumns[c]), expected, 1e-3 * expected) << row.rows << " " << c;
    }
  }
}

TEST(GridCost, TheBoundaryIsReportedByItself) {
  const std::vector<Layer> layers = ShippedLayers("alexnet-2012");
  EXPECT_NEAR(BoundarySeconds(layers, 32, 16, {2048, GridForm::kSamples}, kLink) * 1e3, 0.772, 0.772e-3);
  EXPECT_EQ(BoundarySeconds(layers, 32, 16, {2048, GridForm::kIntegrated}, kLink), 0);
}

TEST(GridCost, CrossoverOfModelAndBatch) {
  constexpr double kExpected[] = {0.08, 2.19, 9.09, 13.63, 13.63, 6144, 2731, 2731};
  size_t at = 0;
  for (const Layer& layer : ShippedLayers("alexnet-2012")) {
    if (layer.weights == 0) continue;
    EXPECT_NEAR(BatchOfCrossover(layer), kExpected[at], std::max(0.005, 0.5e-3 * kExpected[at])) << layer.name;
    ++at;
  }
  EXPECT_EQ(at, std::size(kExpected));
}

}  // namespace
}  // namespace partita
