// ParaDL's formulas on a toy network, reckoned by hand to the microsecond; and stages against every cut.
#include "tests/partitioner/papers/six_strategies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/partitioner/papers/stages.h"

namespace partita {
namespace {

// A 3 x 3 convolution on 8 x 4 pixels of 2 channels to 4, then a dense layer of 128 to 10; elements of 4 bytes.
std::vector<Layer> Network() {
  Layer convolution, dense;
  convolution.name = "conv";
  convolution.kind = LayerKind::kConvolution;
  convolution.input = {8, 4, 2};
  convolution.output = {8, 4, 4};
  convolution.rows = convolution.columns = {3, 1, 1};
  convolution.weights = 72;
  convolution.biases = 28;
  dense.name = "dense";
  dense.input = {8, 4, 4};
  dense.output = {1, 1, 10};
  dense.weights = 1280;
  dense.biases = 20;
  return {convolution, dense};
}

const std::vector<LayerSeconds> kSeconds = {{10e-6, 20e-6, 4e-6}, {2e-6, 4e-6, 8e-6}};
constexpr AlphaBeta kLink = {10e-6, 1e-9};  // 1 us for 1,000 bytes
// 100 steps of 16 samples on 4 devices.
constexpr EpochOptions kOptions = {1600, 16, 4, 2, 8, 4};

// Microseconds of a step.
void ExpectStep(ParallelForm form, double compute, double communication) {
  EpochOptions options = kOptions;
  if (form == ParallelForm::kPipeline) options.devices = 2;
  const absl::StatusOr<EpochCost> cost = CostOfEpoch(form, Network(), kSeconds, options, kLink);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_NEAR(cost->compute * 1e6 / 100, compute, 1e-6) << Name(form);
  EXPECT_NEAR(cost->communication * 1e6 / 100, communication, 1e-6) << Name(form);
}

// 16 / 4 samples of 36 us and 12 us of updates; 6 messages of a quarter of 5,600 bytes.
TEST(SixStrategies, Data) { ExpectStep(ParallelForm::kData, 4 * 36 + 12, 6 * (10 + 1.4)); }

// Rows of 4 x 2 and 4 x 4 elements to two neighbours: 16 samples of 48 elements.
TEST(SixStrategies, Spatial) {
  ExpectStep(ParallelForm::kSpatial, 4 * 36 + 12, 6 * (10 + 1.4) + 20 + 16 * 48 * 4 * 1e-3);
}

// The weights' updates are divided; 3 x 3 messages of a quarter of 16 x 128 outputs.
TEST(SixStrategies, FiltersAndChannels) {
  EpochOptions options = kOptions;
  ExpectStep(ParallelForm::kFilter, 4 * 36 + 3, 9 * (10 + 16 * 128 * 4 / 4 * 1e-3));
  ExpectStep(ParallelForm::kChannel, 4 * 36 + 3, 9 * (10 + 16 * 128 * 4 / 4 * 1e-3));
  options.devices = 16;
  EXPECT_FALSE(CostOfEpoch(ParallelForm::kFilter, Network(), kSeconds, options, kLink).ok()) << "4 filters";
}

// Two stages, 8 micro-batches: 9 of 2 samples at the longer stage's 30 us; 2 x 8 messages of 2 x 128 elements.
TEST(SixStrategies, Pipeline) {
  ExpectStep(ParallelForm::kPipeline, 9 * 2 * 30 + 8, 16 * (10 + 2 * 128 * 4 * 1e-3));
  EpochOptions options = kOptions;
  EXPECT_FALSE(CostOfEpoch(ParallelForm::kPipeline, Network(), kSeconds, options, kLink).ok()) << "2 layers";
}

// Two replicas of two devices.
TEST(SixStrategies, DataWithFilters) {
  ExpectStep(ParallelForm::kDataFilter, 4 * 36 + 6,
             3 * (10 + 16 * 128 * 4 / 4 * 1e-3) + 2 * (10 + 5600 / 2 / 2 * 1e-3));
}

TEST(SixStrategies, DataWithRows) {
  ExpectStep(ParallelForm::kDataSpatial, 4 * 36 + 12, 6 * (10 + 1.4) + 20 + 8 * 48 * 4 * 1e-3);
  EpochOptions options = kOptions;
  options.replicas = 3;
  EXPECT_FALSE(CostOfEpoch(ParallelForm::kDataSpatial, Network(), kSeconds, options, kLink).ok());
}

TEST(SixStrategies, OneDeviceMovesNothing) {
  EpochOptions options = kOptions;
  options.devices = options.replicas = 1;
  options.segments = 1;
  for (ParallelForm form : kParallelForms) {
    const absl::StatusOr<EpochCost> cost = CostOfEpoch(form, Network(), kSeconds, options, kLink);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->communication, 0) << Name(form);
    EXPECT_NEAR(cost->compute * 1e6 / 100, 16 * 36 + 12, 1e-6) << Name(form);
  }
}

double Longest(const std::vector<double>& seconds, const std::vector<size_t>& ends) {
  double longest = 0;
  size_t begin = 0;
  for (size_t end : ends) {
    double length = 0;
    for (size_t l = begin; l < end; ++l) length += seconds[l];
    longest = std::max(longest, length);
    begin = end;
  }
  return longest;
}

// Of all cuts into non-empty stages.
double LeastLongest(const std::vector<double>& seconds, int stages, std::vector<size_t>& ends) {
  const size_t begin = ends.empty() ? 0 : ends.back();
  if (stages == 1) {
    ends.push_back(seconds.size());
    const double longest = Longest(seconds, ends);
    ends.pop_back();
    return longest;
  }
  double least = 1e9;
  for (size_t end = begin + 1; end + stages - 1 <= seconds.size(); ++end) {
    ends.push_back(end);
    least = std::min(least, LeastLongest(seconds, stages - 1, ends));
    ends.pop_back();
  }
  return least;
}

TEST(BalancedStages, AsShortAsCanBe) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> seconds(1 + random() % 8);
    for (double& length : seconds) length = random() % 10;
    const int stages = 1 + static_cast<int>(random() % seconds.size());
    const absl::StatusOr<std::vector<size_t>> ends = BalancedStages(seconds, stages);
    ASSERT_TRUE(ends.ok()) << ends.status();
    ASSERT_EQ(ends->size(), static_cast<size_t>(stages));
    for (int s = 0; s < stages; ++s) EXPECT_GT((*ends)[s], s == 0 ? 0 : (*ends)[s - 1]);
    std::vector<size_t> none;
    EXPECT_EQ(Longest(seconds, *ends), LeastLongest(seconds, stages, none));
  }
}

}  // namespace
}  // namespace partita
