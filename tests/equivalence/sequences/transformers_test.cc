// GPT-2, BERT and ViT at small sizes under the strategies that are shipped for them, on the ranks that they say and on
// more, and under those that searches find: every value, gradient and state of some steps is the serial one's, and the
// bytes counted are the bytes predicted.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/equivalence/sequences/found_strategy.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/gpt2.h"
#include "tools/models/transformers/vit.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 4, kPlaces = 7, kWords = 23, kClasses = 5;  // neither places nor words are even
constexpr int64_t kImage = 6, kPatch = 3, kChannels = 2;
constexpr int kSteps = 2;

using Batch = std::map<std::string, HostTensor>;

HostTensor Words(int64_t words, int step) {
  HostTensor ids = SmallLabels(kBatch * kPlaces, words, step);
  ids.shape = {kBatch, kPlaces};
  return ids;
}

Batch BatchOfGpt2(int step) {
  HostTensor weights{DType::kF64, {kBatch, kPlaces}, std::vector<char>(kBatch * kPlaces * sizeof(double))};
  for (size_t i = 0; i < kBatch * kPlaces; ++i) {
    const double weight = i % 5 == 0 ? 0 : 1.25;
    std::memcpy(weights.bytes.data() + i * sizeof(double), &weight, sizeof(weight));
  }
  return {{"ids", Words(kWords, step)}, {"targets", Words(kWords, step + 100)}, {"weights", weights}};
}

Batch BatchOfBert(int step) {
  HostTensor lengths = SmallLabels(kBatch, kPlaces, step + 300);
  for (int64_t i = 0; i < kBatch; ++i) {
    int32_t length;
    std::memcpy(&length, lengths.bytes.data() + i * sizeof(length), sizeof(length));
    ++length;  // from one word on
    std::memcpy(lengths.bytes.data() + i * sizeof(length), &length, sizeof(length));
  }
  return {{"ids", Words(kWords, step)},
          {"segments", Words(2, step + 200)},
          {"lengths", lengths},
          {"labels", Words(kWords, step + 100)}};
}

Batch BatchOfVit(int step) {
  return {{"images", SmallImages({kBatch, kImage, kImage, kChannels}, step)},
          {"labels", SmallLabels(kBatch, kClasses, step)}};
}

template <typename Options>
void SetSizes(double dropout_rate, Options& options) {
  options.batch = kBatch;
  options.width = 12;
  options.heads = 4;
  options.layers = 2;
  options.dropout_rate = dropout_rate;
}

template <typename Options>
Options OfWords(double dropout_rate) {
  Options options{.length = kPlaces, .positions = kPlaces, .words = kWords};
  SetSizes(dropout_rate, options);
  return options;
}

absl::StatusOr<Model> SmallGpt2(double dropout_rate) { return MakeGpt2(OfWords<Gpt2Options>(dropout_rate), Ops()); }

absl::StatusOr<Model> SmallBert(double dropout_rate) { return MakeBert(OfWords<BertOptions>(dropout_rate), Ops()); }

absl::StatusOr<Model> SmallVit(double dropout_rate) {
  VitOptions options{.image_size = kImage, .image_channels = kChannels, .patch = kPatch, .classes = kClasses};
  SetSizes(dropout_rate, options);
  return MakeVit(options, Ops());
}

struct Network {
  const char* name;  // of the folder of its strategies
  absl::StatusOr<Model> (*make)(double dropout_rate);
  Batch (*batch)(int step);

  absl::StatusOr<Model> Small(double dropout_rate = 0.1) const {
    ASSIGN_OR_RETURN(Model model, make(dropout_rate));
    model.learning_rate.steps = kSteps;
    return model;
  }
  absl::StatusOr<Strategy> Shipped(const std::string& strategy) const {
    return LoadStrategy(std::string("tools/models/examples/") + name + "/" + strategy + ".pbtxt");
  }
};

constexpr Network kGpt2 = {"gpt2", SmallGpt2, BatchOfGpt2}, kBert = {"bert_base", SmallBert, BatchOfBert},
                  kVit = {"vit_b_16", SmallVit, BatchOfVit};

class TransformerStrategies : public testing::TestWithParam<std::tuple<Network, const char*>> {};

TEST_P(TransformerStrategies, GoTheWayOfOneRank) {
  const auto& [network, name] = GetParam();
  ASSERT_OK_AND_ASSIGN(Strategy strategy, network.Shipped(name));
  ASSERT_OK_AND_ASSIGN(const Model model, network.Small());
  const auto run = [&] {
    return RunSideBySide(model, strategy, kSteps, network.batch, std::nullopt, /*same_beginning=*/true);
  };
  EXPECT_OK(run());
  // A rank more than divides the heads, the places and the words.
  MeshAxis& last = strategy.mesh.axes.back();
  if (last.name != "model") return;
  last.size = 3;
  EXPECT_OK(run());
}

std::string NameOfStrategy(const testing::TestParamInfo<std::tuple<Network, const char*>>& info) {
  const auto& [network, strategy] = info.param;
  return std::string(network.name) + "_by_" + strategy;
}

INSTANTIATE_TEST_SUITE_P(OfGpt2, TransformerStrategies,
                         testing::Combine(testing::Values(kGpt2), testing::Values("data", "tensor", "sequence", "2x2")),
                         NameOfStrategy);
INSTANTIATE_TEST_SUITE_P(Others, TransformerStrategies,
                         testing::Combine(testing::Values(kBert, kVit), testing::Values("tensor", "sequence", "2x2")),
                         NameOfStrategy);

// Megatron's: two sums of a block's outputs forward and two backward, and what the table needs.
TEST(TransformerStrategies, TensorParallelBlocksAddUpTwoOutputsAndTwoGradients) {
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, kGpt2.Shipped("tensor"));
  ASSERT_OK_AND_ASSIGN(const Model model, kGpt2.Small(/*dropout_rate=*/0));
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
  const int64_t rows = kBatch * kPlaces, activations = 2 * rows * 12 * 8;
  LayerBytes expected = {{{"all_reduce", "words"}, activations}, {{"all_reduce", "norm"}, activations}};
  for (const char* const block : {"block1", "block2"}) {
    for (const char* const name : {"/output", "/down", "/norm1", "/norm2"}) {
      expected[{"all_reduce", std::string(block) + name}] = activations;
    }
  }
  LayerBytes moved = BytesOfLayers(program);
  moved.erase({"all_reduce", "loss"});
  moved.erase({"all_reduce", ""});  // a number: whether all gradients are finite
  EXPECT_EQ(moved, expected);
}

class TransformerSearches : public testing::TestWithParam<std::tuple<Network, SearchOnRanks>> {};

TEST_P(TransformerSearches, FindWhatGoesTheWayOfOneRank) {
  const auto& [network, searched] = GetParam();
  const auto& [search, ranks] = searched;
  ASSERT_OK_AND_ASSIGN(const Model model, network.Small());
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, FoundStrategy(model.graph, search, ranks));
  SCOPED_TRACE(PrintStrategy(strategy, ProtoFormat::kText));
  EXPECT_OK(RunSideBySide(model, strategy, kSteps, network.batch, std::nullopt, /*same_beginning=*/true));
}

std::string NameOfSearched(const testing::TestParamInfo<std::tuple<Network, SearchOnRanks>>& info) {
  const auto& [network, searched] = info.param;
  return std::string(network.name) + "_" + NameOfSearch({searched, info.index});
}

INSTANTIATE_TEST_SUITE_P(Found, TransformerSearches,
                         testing::Combine(testing::Values(kGpt2, kBert, kVit), SearchesOnRanks()), NameOfSearched);

}  // namespace
}  // namespace partita
