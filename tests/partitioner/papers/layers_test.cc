// The layers of shipped networks have the sizes that the papers' tables were made from.
#include "tests/partitioner/papers/layers.h"

#include <gmock/gmock.h>

#include "tests/partitioner/papers/shipped_layers.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

int64_t Parameters(const std::vector<Layer>& layers) {
  int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.weights + layer.biases;
  return sum;
}

double MultiplyAddsOf(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.multiply_adds;
  return sum;
}

TEST(Layers, OfAlexNet2012) {
  struct Sizes {
    int64_t weights, inputs, outputs;
    bool operator==(const Sizes&) const = default;
  };
  std::vector<Sizes> sizes;
  for (const Layer& layer : ShippedLayers("alexnet-2012")) {
    if (layer.weights > 0) sizes.push_back({layer.weights, layer.input.elements(), layer.output.elements()});
  }
  EXPECT_EQ(sizes, (std::vector<Sizes>{{34848, 154587, 290400},
                                       {614400, 69984, 186624},
                                       {884736, 43264, 64896},
                                       {1327104, 64896, 64896},
                                       {884736, 64896, 43264},
                                       {37748736, 9216, 4096},
                                       {16777216, 4096, 4096},
                                       {4096000, 4096, 1000}}));
}

TEST(Layers, OfTheLayerwisePaper) {
  const std::vector<Layer> alexnet = ShippedLayers("alexnet"), vgg = ShippedLayers("vgg-16");
  EXPECT_EQ(alexnet.size(), 11u);
  EXPECT_EQ(Parameters(alexnet), 61'100'840);
  EXPECT_NEAR(MultiplyAddsOf(alexnet), 0.714e9, 0.0005e9);
  EXPECT_EQ(vgg.size(), 21u);
  EXPECT_EQ(Parameters(vgg), 138'357'544);
  EXPECT_NEAR(MultiplyAddsOf(vgg), 15.470e9, 0.0005e9);
}

TEST(Layers, BranchesAreNoChain) {
  ModelOptions options;
  options.batch = 1;
  const absl::Status status = LayersOf(MakeModel("mini-inception", options, Ops())->graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not follow the layer before it alone"));
}

}  // namespace
}  // namespace partita
