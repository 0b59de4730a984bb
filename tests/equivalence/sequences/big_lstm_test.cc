// BigLSTM at small sizes under the strategies that are shipped for it, and its stages in other micro-batches and
// orders: every value, gradient and state of some steps, what it carries from batch to batch included, is the serial
// one's, and the bytes counted are the bytes predicted.
#include "tools/models/big_lstm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/equivalence/sequences/found_strategy.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8, kPlaces = 5, kWords = 23;
constexpr int kSteps = 3;

HostTensor Words(int step) {
  HostTensor words = SmallLabels(kBatch * kPlaces, kWords, step);
  words.shape = {kBatch, kPlaces};
  return words;
}

std::map<std::string, HostTensor> BatchOf(int step) {
  HostTensor weights{DType::kF64, {kBatch, kPlaces}, std::vector<char>(kBatch * kPlaces * sizeof(double))};
  for (size_t i = 0; i < kBatch * kPlaces; ++i) {
    const double weight = i % 7 == 0 ? 0 : 1.25;
    std::memcpy(weights.bytes.data() + i * sizeof(double), &weight, sizeof(double));
  }
  return {{"ids", Words(step)}, {"targets", Words(step + 100)}, {"weights", weights}};
}

absl::StatusOr<Model> SmallModel() {
  return MakeBigLstm({.batch = kBatch, .places = kPlaces, .words = kWords, .units = 6, .projection = 3}, Ops());
}

absl::StatusOr<Strategy> Shipped(const std::string& name) {
  return LoadStrategy("tools/models/examples/big_lstm/" + name + ".pbtxt");
}

class BigLstmStrategies : public testing::TestWithParam<const char*> {};

TEST_P(BigLstmStrategies, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, Shipped(GetParam()));
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  EXPECT_OK(RunSideBySide(model, strategy, kSteps, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Shipped, BigLstmStrategies,
                         testing::Values("data", "vocabulary", "pipeline", "pipeline_4", "2x2"),
                         [](const auto& strategy) { return "By_" + std::string(strategy.param); });

class BigLstmSearches : public testing::TestWithParam<SearchOnRanks> {};

TEST_P(BigLstmSearches, FindWhatGoesTheWayOfOneRank) {
  const auto& [search, ranks] = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, FoundStrategy(model.graph, search, ranks));
  SCOPED_TRACE(PrintStrategy(strategy, ProtoFormat::kText));
  EXPECT_OK(RunSideBySide(model, strategy, 2, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Found, BigLstmSearches, SearchesOnRanks(), NameOfSearch);

using Pipelined = std::tuple<const char*, int64_t, PipelineOrder>;
class BigLstmPipelines : public testing::TestWithParam<Pipelined> {};

TEST_P(BigLstmPipelines, GoTheWayOfOneRank) {
  const auto& [name, micro_batches, order] = GetParam();
  ASSERT_OK_AND_ASSIGN(Strategy strategy, Shipped(name));
  strategy.pipeline.micro_batches = micro_batches;
  strategy.pipeline.order = order;
  if (micro_batches == 1) strategy.pipeline = {};
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  EXPECT_OK(RunSideBySide(model, strategy, kSteps, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Orders, BigLstmPipelines,
                         testing::Combine(testing::Values("pipeline", "pipeline_4", "2x2"), testing::Values(2, 4),
                                          testing::Values(PipelineOrder::kGPipe, PipelineOrder::kOverlapFriendly,
                                                          PipelineOrder::kOneForwardOneBackward)));

INSTANTIATE_TEST_SUITE_P(WholeBatches, BigLstmPipelines,
                         testing::Combine(testing::Values("pipeline", "pipeline_4", "2x2"), testing::Values(1),
                                          testing::Values(PipelineOrder::kGPipe)));

}  // namespace
}  // namespace partita
