// The golden table of docs/papers.md 14.1, to 0.1 %: strategies evaluated, not searched.
#include "tests/partitioner/papers/layerwise_cost.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/partitioner/papers/shipped_layers.h"

namespace partita {
namespace {

constexpr LayerwiseMachine kMachine = {8e12, 20e9};

struct Expected {
  double compute, sync, transfer, megabytes;  // milliseconds
};

void ExpectCost(const std::string& network, int64_t batch, const LayerDegrees& convolutions, const LayerDegrees& dense,
                const Expected& expected) {
  const std::vector<Layer> layers = ShippedLayers(network);
  std::vector<LayerDegrees> degrees;
  for (const Layer& layer : layers) degrees.push_back(layer.kind == LayerKind::kDense ? dense : convolutions);
  const LayerwiseCost cost = CostOfChain(layers, degrees, batch, kMachine);
  const auto near = [](double value, double target) { EXPECT_NEAR(value, target, 1e-3 * target + 1e-9); };
  near(cost.compute * 1e3, expected.compute);
  near(cost.sync * 1e3, expected.sync);
  near(cost.transfer * 1e3, expected.transfer);
  near(cost.seconds() * 1e3, expected.compute + expected.sync + expected.transfer);
  near(cost.wire_bytes / 1e6, expected.megabytes);
}

constexpr LayerDegrees kSamples4 = {4, 1, 1, 1}, kChannels4 = {1, 4, 1, 1}, kRows4 = {1, 1, 4, 1};

TEST(LayerwiseCost, GoldenTableOfAlexNet) {
  ExpectCost("alexnet", 128, kSamples4, kSamples4, {17.141, 18.330, 0, 1466.4});
  ExpectCost("alexnet", 128, kChannels4, kChannels4, {17.141, 0, 7.859, 628.8});
  ExpectCost("alexnet", 128, kSamples4, kChannels4, {17.141, 0.741, 0.668, 112.8});
}

TEST(LayerwiseCost, GoldenTableOfVgg) {
  ExpectCost("vgg-16", 128, kSamples4, kSamples4, {371.286, 41.507, 0, 3320.6});
  ExpectCost("vgg-16", 128, kChannels4, kChannels4, {371.286, 0, 344.241, 27539.3});
  ExpectCost("vgg-16", 128, kSamples4, kChannels4, {371.286, 4.414, 1.278, 455.4});
  const LayerDegrees samples16 = {16, 1, 1, 1};
  ExpectCost("vgg-16", 512, samples16, samples16, {371.286, 51.884, 0, 16602.9});
  ExpectCost("vgg-16", 512, samples16, {2, 8, 1, 1}, {371.286, 8.609, 2.982, 3709.1});
}

TEST(LayerwiseCost, GoldenTableOfOneSample) {
  ExpectCost("vgg-16", 1, kChannels4, kChannels4, {2.9007, 0, 2.6894, 215.15});
  ExpectCost("vgg-16", 1, kRows4, kChannels4, {2.9007, 4.4144, 0.1286, 360.66});
}

// Four rows of one channel into two halves, then a 3 x 3 convolution by halves: each lacks one row of two places.
TEST(LayerwiseCost, AHaloIsWhatIsNotOwned) {
  Layer before, layer;
  before.kind = layer.kind = LayerKind::kConvolution;
  before.output = layer.input = layer.output = {4, 2, 1};
  layer.rows = layer.columns = {3, 1, 1};
  const LayerDegrees halves = {1, 1, 2, 1};
  const LayerTransfer transfer = TransferOf(before, halves, layer, halves, 1);
  EXPECT_EQ(transfer.most_bytes, 2 * 4 * 2);
  EXPECT_EQ(transfer.all_bytes, 2 * 4 * 4);
}

}  // namespace
}  // namespace partita
