// What searches find for small forms of the shipped models on 2 and 4 ranks compiles, survives being written as a
// strategy file, and goes the way of one rank; of the large networks, at 4 channels, by three of the searches.
#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/choose/candidates.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int kSteps = 2;

struct Found {
  std::string model;
  SearchKind search = SearchKind::kData;
  int ranks = 2;
};
std::ostream& operator<<(std::ostream& out, const Found& one) {
  return out << one.model << " by " << Name(one.search) << " on " << one.ranks;
}

std::vector<Found> AllFound() {
  std::vector<Found> all;
  for (const char* model : {"lenet5", "mlp", "mini-inception"}) {
    for (const SearchKind search : kSearches) {
      for (const int ranks : {2, 4}) all.push_back({model, search, ranks});
    }
  }
  return all;
}

class Searches : public testing::TestWithParam<Found> {};

TEST_P(Searches, FindWhatEqualsSerial) {
  const bool pipeline = GetParam().search == SearchKind::kPipeline;  // batch statistics of parts of the batch
  const Case small{GetParam().model, pipeline ? "1f1b" : "1x1", /*regularized=*/true};
  const auto model = MakeSmallModel(small, 0.05);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto layers = FindLayers(model->graph, Ops());
  ASSERT_TRUE(layers.ok()) << layers.status();
  const Cluster cluster = FourWithFastLinks();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  Searcher searcher(model->graph, *layers, GetParam().ranks, basis);
  const auto candidates = searcher.CandidatesOf(GetParam().search, kNever);
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_FALSE(candidates->empty());
  for (const Candidate& candidate : *candidates) {
    const std::string text = PrintStrategy(candidate.strategy, ProtoFormat::kText);
    const auto strategy = ParseStrategy(text, ProtoFormat::kText, "found");
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    EXPECT_EQ(PrintStrategy(*strategy, ProtoFormat::kText), text);
    const auto batch = [&](int step) {
      const StepInputs inputs = MakeBatch(1, step, DType::kF64, BatchOf(small));
      return NamedTensors{inputs.images, inputs.labels};
    };
    const absl::Status equal = RunSideBySide(*model, *strategy, kSteps, batch);
    EXPECT_TRUE(equal.ok()) << candidate.plan << ": " << equal << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Searches, testing::ValuesIn(AllFound()));

constexpr int64_t kSamples = 8, kClasses = 5;

struct LargeFound {
  std::string model;
  int64_t pixels = 32;
  int ranks = 2;
};
std::ostream& operator<<(std::ostream& out, const LargeFound& one) { return out << one.model << " on " << one.ranks; }

std::vector<LargeFound> AllLarge() {
  std::vector<LargeFound> all;
  for (const auto& [model, pixels] :
       std::map<std::string, int64_t>{{"alexnet", 67}, {"vgg-16", 32}, {"resnet-50", 32}, {"inception-v3", 75}}) {
    for (const int ranks : {2, 4}) all.push_back({model, pixels, ranks});
  }
  return all;
}

// So many batch norms over so few samples multiply rounding, so the step begins where the serial run began it.
class LargeSearches : public testing::TestWithParam<LargeFound> {};

TEST_P(LargeSearches, FindWhatEqualsSerial) {
  const LargeFound& found = GetParam();
  const auto model = MakeModel(
      found.model,
      {.batch = kSamples, .image_size = found.pixels, .channel_limit = 4, .classes = kClasses, .image_channels = 3},
      Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto layers = FindLayers(model->graph, Ops());
  ASSERT_TRUE(layers.ok()) << layers.status();
  const Cluster cluster = FourWithFastLinks();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  Searcher searcher(model->graph, *layers, found.ranks, basis);
  const auto batch = [&](int step) {
    return NamedTensors{SmallImages({kSamples, found.pixels, found.pixels, 3}, step),
                        SmallLabels(kSamples, kClasses, step)};
  };
  for (const SearchKind search : {SearchKind::kGrid, SearchKind::kPlacement, SearchKind::kLayerwise}) {
    const auto candidates = searcher.CandidatesOf(search, kNever);
    ASSERT_TRUE(candidates.ok()) << candidates.status();
    ASSERT_FALSE(candidates->empty());
    // Of the best grid, and of the largest groups.
    const Candidate& candidate = search == SearchKind::kGrid ? candidates->front() : candidates->back();
    const absl::Status equal =
        RunSideBySide(*model, candidate.strategy, 1, batch, std::nullopt, /*same_beginning=*/true);
    EXPECT_TRUE(equal.ok()) << Name(search) << " " << candidate.plan << ": " << equal;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, LargeSearches, testing::ValuesIn(AllLarge()));

}  // namespace
}  // namespace partita
