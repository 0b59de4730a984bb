// GPT-2 at small sizes under the strategies that are shipped for it, on the ranks that they say and on more, and under
// those that searches find: every value, gradient and state of some steps is the serial one's, and the bytes counted
// are the bytes predicted.
#include "tools/models/transformers/gpt2.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/equivalence/sequences/found_strategy.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 4, kPlaces = 7, kWords = 23;  // neither places nor words are even
constexpr int kSteps = 2;

HostTensor Words(int step) {
  HostTensor words = SmallLabels(kBatch * kPlaces, kWords, step);
  words.shape = {kBatch, kPlaces};
  return words;
}

std::map<std::string, HostTensor> BatchOf(int step) {
  HostTensor weights{DType::kF64, {kBatch, kPlaces}, std::vector<char>(kBatch * kPlaces * sizeof(double))};
  for (size_t i = 0; i < kBatch * kPlaces; ++i) {
    const double weight = i % 5 == 0 ? 0 : 1.25;
    std::memcpy(weights.bytes.data() + i * sizeof(double), &weight, sizeof(weight));
  }
  return {{"ids", Words(step)}, {"targets", Words(step + 100)}, {"weights", weights}};
}

absl::StatusOr<Model> SmallModel(double dropout_rate = 0.1) {
  Gpt2Options options{.batch = kBatch, .length = kPlaces, .positions = kPlaces, .words = kWords, .width = 12};
  options.heads = 4;
  options.layers = 2;
  options.dropout_rate = dropout_rate;
  ASSIGN_OR_RETURN(Model model, MakeGpt2(options, Ops()));
  model.learning_rate.steps = kSteps;
  return model;
}

absl::StatusOr<Strategy> Shipped(const std::string& name) {
  return LoadStrategy("tools/models/examples/gpt2/" + name + ".pbtxt");
}

class Gpt2Strategies : public testing::TestWithParam<const char*> {};

TEST_P(Gpt2Strategies, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(Strategy strategy, Shipped(GetParam()));
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  const auto run = [&] {
    return RunSideBySide(model, strategy, kSteps, BatchOf, std::nullopt, /*same_beginning=*/true);
  };
  EXPECT_OK(run());
  // A rank more than divides the heads, the places and the words.
  MeshAxis& last = strategy.mesh.axes.back();
  if (last.name != "model") return;
  last.size = 3;
  EXPECT_OK(run());
}

INSTANTIATE_TEST_SUITE_P(Shipped, Gpt2Strategies, testing::Values("data", "tensor", "sequence", "2x2"),
                         [](const auto& strategy) { return "By_" + std::string(strategy.param); });

// Megatron's: two sums of a block's outputs forward and two backward, and what the table needs.
TEST(Gpt2Strategies, TensorParallelBlocksAddUpTwoOutputsAndTwoGradients) {
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, Shipped("tensor"));
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel(/*dropout_rate=*/0));
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

class Gpt2Searches : public testing::TestWithParam<SearchOnRanks> {};

TEST_P(Gpt2Searches, FindWhatGoesTheWayOfOneRank) {
  const auto& [search, ranks] = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, FoundStrategy(model.graph, search, ranks));
  SCOPED_TRACE(PrintStrategy(strategy, ProtoFormat::kText));
  EXPECT_OK(RunSideBySide(model, strategy, kSteps, BatchOf, std::nullopt, /*same_beginning=*/true));
}

INSTANTIATE_TEST_SUITE_P(Found, Gpt2Searches, SearchesOnRanks(), NameOfSearch);

}  // namespace
}  // namespace partita
