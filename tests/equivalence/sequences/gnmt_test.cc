// GNMT at small sizes under the strategies that are shipped for it, and its stages in other micro-batches and orders:
// every value, gradient and state of some steps is the serial one's, and the bytes counted are the bytes predicted.
#include "tools/models/gnmt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/equivalence/sequences/found_strategy.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8, kSourcePlaces = 6, kTargetPlaces = 5, kWords = 23;
constexpr int kSteps = 3;

template <typename T>
HostTensor Filled(DType dtype, const Shape& shape, const std::vector<T>& values) {
  HostTensor tensor{dtype, shape, std::vector<char>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::vector<int32_t> Numbers(int64_t count, int64_t below, int step) {
  const HostTensor numbers = SmallLabels(count, below, step);
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::memcpy(values.data(), numbers.bytes.data(), numbers.bytes.size());
  return values;
}

// Words of so many sentences of so many places, 0 behind their ends.
HostTensor Sentences(const std::vector<int32_t>& lengths, int64_t places, int step) {
  std::vector<int32_t> words = Numbers(kBatch * places, kWords - 1, step);
  for (int64_t i = 0; i < kBatch * places; ++i) words[i] = i % places < lengths[i / places] ? words[i] + 1 : 0;
  return Filled(DType::kI32, {kBatch, places}, words);
}

std::map<std::string, HostTensor> BatchOf(int step) {
  std::vector<int32_t> source = Numbers(kBatch, kSourcePlaces, step + 10),
                       target = Numbers(kBatch, kTargetPlaces, step);
  for (int32_t& length : source) ++length;
  for (int32_t& length : target) ++length;
  source[0] = 1;
  source[1] = kSourcePlaces;
  std::vector<double> weights(kBatch * kTargetPlaces);
  for (int64_t i = 0; i < kBatch * kTargetPlaces; ++i) weights[i] = i % kTargetPlaces < target[i / kTargetPlaces];
  return {{"source", Sentences(source, kSourcePlaces, step + 20)},
          {"source_lengths", Filled(DType::kI32, {kBatch}, source)},
          {"ids", Sentences(target, kTargetPlaces, step + 30)},
          {"targets", Sentences(target, kTargetPlaces, step + 40)},
          {"weights", Filled(DType::kF64, {kBatch, kTargetPlaces}, weights)}};
}

absl::StatusOr<Model> SmallModel() {
  const GnmtOptions options{.batch = kBatch,
                            .source_places = kSourcePlaces,
                            .target_places = kTargetPlaces,
                            .words = kWords,
                            .units = 5,
                            .layers = 4};
  ASSIGN_OR_RETURN(Model model, MakeGnmt(options, Ops()));
  model.optimizer.clip_norm = 0.05;  // below the gradients' norm
  return model;
}

absl::StatusOr<Strategy> Shipped(const std::string& name) {
  return LoadStrategy("tools/models/examples/gnmt/" + name + ".pbtxt");
}

class GnmtStrategies : public testing::TestWithParam<const char*> {};

TEST_P(GnmtStrategies, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, Shipped(GetParam()));
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  EXPECT_OK(RunSideBySide(model, strategy, kSteps, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Shipped, GnmtStrategies,
                         testing::Values("data", "vocabulary", "pipeline", "pipeline_4", "2x2"),
                         [](const auto& strategy) { return "By_" + std::string(strategy.param); });

class GnmtSearches : public testing::TestWithParam<SearchOnRanks> {};

TEST_P(GnmtSearches, FindWhatGoesTheWayOfOneRank) {
  const auto& [search, ranks] = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, FoundStrategy(model.graph, search, ranks));
  SCOPED_TRACE(PrintStrategy(strategy, ProtoFormat::kText));
  EXPECT_OK(RunSideBySide(model, strategy, 2, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Found, GnmtSearches, SearchesOnRanks(), NameOfSearch);

using Pipelined = std::tuple<const char*, int64_t, PipelineOrder>;
class GnmtPipelines : public testing::TestWithParam<Pipelined> {};

TEST_P(GnmtPipelines, GoTheWayOfOneRank) {
  const auto& [name, micro_batches, order] = GetParam();
  ASSERT_OK_AND_ASSIGN(Strategy strategy, Shipped(name));
  strategy.pipeline.micro_batches = micro_batches;
  strategy.pipeline.order = order;
  if (micro_batches == 1) strategy.pipeline = {};
  ASSERT_OK_AND_ASSIGN(const Model model, SmallModel());
  EXPECT_OK(RunSideBySide(model, strategy, 2, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Orders, GnmtPipelines,
                         testing::Combine(testing::Values("pipeline", "pipeline_4"), testing::Values(2, 4),
                                          testing::Values(PipelineOrder::kGPipe, PipelineOrder::kOverlapFriendly,
                                                          PipelineOrder::kOneForwardOneBackward)));

INSTANTIATE_TEST_SUITE_P(WholeBatches, GnmtPipelines,
                         testing::Combine(testing::Values("pipeline", "pipeline_4"), testing::Values(1),
                                          testing::Values(PipelineOrder::kGPipe)));

}  // namespace
}  // namespace partita
