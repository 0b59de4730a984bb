#include "partitioner/search/pipeline_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace partita {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();
constexpr PipelineOrder kOrders[] = {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward,
                                     PipelineOrder::kOverlapFriendly};

// All cuts into at most `stages`: bit i says that layer i + 1 begins one.
double BruteForce(const std::vector<PipelineLayer>& layers, const PipelineLimits& limits) {
  double best = kAll;
  for (int cuts = 0; cuts < 1 << (layers.size() - 1); ++cuts) {
    PipelinePlan plan{{0}, 1, PipelineOrder::kGPipe};
    for (int i = 0; i + 1 < static_cast<int>(layers.size()); ++i) {
      if (cuts >> i & 1) plan.first_layer.push_back(i + 1);
    }
    if (static_cast<int>(plan.first_layer.size()) > limits.stages) continue;
    for (const int micro_batches : limits.micro_batches) {
      for (const PipelineOrder order : kOrders) {
        plan.micro_batches = micro_batches;
        plan.order = order;
        if (PipelineBytes(layers, plan) <= limits.bytes) best = std::min(best, PipelineSeconds(layers, plan));
      }
    }
  }
  return best;
}

// Multiples of 4, so that quarters are exact.
std::vector<PipelineLayer> RandomLayers(std::mt19937& random) {
  const auto number = [&] { return 4.0 * static_cast<double>(random() % 10); };
  std::vector<PipelineLayer> layers;
  for (int i = 1 + static_cast<int>(random() % 8); i > 0; --i)
    layers.push_back({"layer", number(), number(), number() / 16, number() / 4, number() / 16, number(), number()});
  return layers;
}

TEST(PipelineSearch, EqualsBruteForceWithAndWithoutALimitOfMemory) {
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {  // 1,000 without a limit, 1,000 with one
    const std::vector<PipelineLayer> layers = RandomLayers(random);
    const double bytes = i % 2 == 0 ? kAll : static_cast<double>(30 + random() % 120);
    const PipelineLimits limits{1 + static_cast<int>(random() % 4), {1, 2, 4}, bytes};
    const double best = BruteForce(layers, limits);
    const auto answer = PipelineSearch(layers, limits);
    ASSERT_EQ(answer.ok(), best < kAll) << answer.status();
    if (!answer.ok() && ++refused) continue;
    EXPECT_EQ(answer->seconds, best) << i;
    EXPECT_EQ(answer->seconds, PipelineSeconds(layers, answer->plan));
    EXPECT_LE(PipelineBytes(layers, answer->plan), bytes);
    EXPECT_EQ(answer->rejected.size(), 8);
  }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 600);
}

// When the last stage-step ends, if stage s runs `warm_up[s]` forwards before its first backward, then one of each.
double Simulate(int stages, int micro_batches, const std::vector<int>& warm_up, double forward, double backward) {
  std::vector<std::vector<double>> f(stages, std::vector<double>(micro_batches, -1)), b = f;
  std::vector<double> free(stages, 0);
  std::vector<int> forwards(stages, 0), backwards(stages, 0);
  for (int left = 2 * stages * micro_batches; left > 0;) {
    for (int s = 0; s < stages; ++s) {
      const int i = forwards[s], j = backwards[s];
      const bool is_forward = i < std::min(micro_batches, j + warm_up[s]);
      const double ready = is_forward ? (s == 0 ? 0 : f[s - 1][i]) : (s == stages - 1 ? f[s][j] : b[s + 1][j]);
      if (j == micro_batches || ready < 0) continue;
      free[s] = std::max(free[s], ready) + (is_forward ? forward : backward);
      (is_forward ? f[s][forwards[s]++] : b[s][backwards[s]++]) = free[s];
      --left;
    }
  }
  return *std::max_element(free.begin(), free.end());
}

TEST(PipelineSearch, ClosedFormIsTheSimulatedOneOfEqualStages) {
  for (const int stages : {1, 2, 4}) {
    for (const int micro_batches : {1, 4, 8}) {
      const double m = micro_batches;
      const std::vector<PipelineLayer> layers(stages, {"layer", 2 * m, 4 * m, 0, 0, 0, 0, 0});
      PipelinePlan plan{{}, micro_batches, PipelineOrder::kOneForwardOneBackward};
      std::vector<int> one, all;
      for (int s = 0; s < stages; ++s) {
        plan.first_layer.push_back(s);
        one.push_back(std::min(micro_batches, stages - s));
        all.push_back(micro_batches);
      }
      EXPECT_EQ(PipelineSeconds(layers, plan), (stages + m - 1) * 6);
      EXPECT_EQ(PipelineSeconds(layers, plan), Simulate(stages, micro_batches, one, 2, 4));
      EXPECT_EQ(PipelineSeconds(layers, plan), Simulate(stages, micro_batches, all, 2, 4)) << "gpipe";
    }
  }
}

TEST(PipelineSearch, BalancesTimeAndMemory) {
  const std::vector<PipelineLayer> layers(8, {"layer", 8, 16, 0, 0, 0, 0, 8});
  const auto free = PipelineSearch(layers, {4, {8}, kAll});
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->plan.first_layer, (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(free->seconds, (4 + 8 - 1) * 6.0);
  EXPECT_EQ(free->bytes, 16) << "gpipe keeps all micro-batches, and is no slower";
  const auto tight = PipelineSearch(layers, {4, {8}, 8});
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(tight->plan.order, PipelineOrder::kOneForwardOneBackward);
  EXPECT_EQ(tight->bytes, 8);
  EXPECT_EQ(PipelineSearch(layers, {4, {8}, 1}).status().message(),
            "no cuts of 8 layers into at most 4 stages fit 1 bytes a stage");
}

TEST(PipelineSearch, RefusesWhatIsNoPipeline) {
  EXPECT_EQ(PipelineSearch({}, {2, {1}, kAll}).status().message(),
            "0 layers, 2 stages and 1 numbers of micro-batches: at least one of each is needed");
  EXPECT_EQ(PipelineSearch({{"conv1", -1, 0, 0, 0, 0, 0, 0}}, {2, {1}, kAll}).status().message(),
            "layer 'conv1' has a cost of -1: it is finite and not below zero");
  EXPECT_EQ(PipelineSearch({{"conv1", 1, 0, 0, 0, 0, 0, 0}}, {2, {0}, kAll}).status().message(),
            "0 micro-batches: at least one is needed");
}

}  // namespace
}  // namespace partita
