// What each search proposes for the ways to cut ranks into groups.
#include "partitioner/choose/candidates.h"

#include <gmock/gmock.h>

#include "ops/registry.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/layers.h"
#include "tools/models/models.h"

namespace partita {
namespace {

Cluster Devices(int count) {
  const Cluster four = FourDevices();
  return HostOf(four.KindOf(0), count, {Fabric::kMemory, 1e9, 5e-6, 1});
}

// A searcher and all that it refers to.
struct Searched {
  Searched(const std::string& name, int64_t batch, int ranks)
      : Searched(*MakeModel(name, {.batch = batch}, Ops()), ranks) {}
  Searched(const Model& searched, int ranks)
      : model(searched),
        layers(*FindLayers(model.graph, Ops())),
        cluster(Devices(ranks)),
        basis{Ops(), cluster, times},
        searcher(model.graph, layers, ranks, basis) {}

  const Model model;
  const LayerGraph layers;
  const Cluster cluster;
  const KernelTimes times;
  const CostBasis basis;
  Searcher searcher;
};

std::vector<std::string> PlansOf(const std::vector<Candidate>& candidates) {
  std::vector<std::string> plans;
  for (const Candidate& candidate : candidates) plans.push_back(candidate.plan.substr(0, candidate.plan.find(',')));
  return plans;
}

// Those that were chosen without the sums of gradients.
std::vector<Candidate> TakeHidden(std::vector<Candidate>& candidates) {
  const auto counted = [](const Candidate& one) { return !one.plan.ends_with(", sums hidden"); };
  const auto hidden = std::ranges::stable_partition(candidates, counted);
  std::vector<Candidate> taken(hidden.begin(), hidden.end());
  candidates.erase(hidden.begin(), hidden.end());
  return taken;
}

TEST(Candidates, OfEachGridTheBest) {
  Searched toy("lenet5", 16, 4);
  auto grids = toy.searcher.CandidatesOf(SearchKind::kGrid, kNever);
  ASSERT_TRUE(grids.ok()) << grids.status();
  for (const Candidate& hidden : TakeHidden(*grids)) {
    const auto counted = std::ranges::find(*grids, hidden.strategy.mesh.ToString(), &Candidate::plan);
    ASSERT_NE(counted, grids->end());
    EXPECT_GE(hidden.judgement->seconds, counted->judgement->seconds) << hidden.plan << ", judged with all sums";
    EXPECT_EQ(hidden.judgement->lower_bound, counted->judgement->lower_bound);
  }
  EXPECT_THAT(PlansOf(*grids), testing::UnorderedElementsAre("data:4 model:1", "data:2 model:2", "data:1 model:4"));
  for (size_t i = 1; i < grids->size(); ++i)
    EXPECT_LE((*grids)[i - 1].judgement->seconds, (*grids)[i].judgement->seconds) << "the fastest first";
}

// Eight layers of 64 x 64 weights, for a batch of four samples.
Model Chain() {
  ModelLayers layers({.batch = 4, .image_size = 8}, Ops(), {});
  ValueId x = layers.builder().Flatten("flatten", layers.images());
  for (int layer = 0; layer < 8; ++layer) x = layers.Hidden("dense" + std::to_string(layer), x, 64);
  return *layers.Finish("chain", x);
}

// Larger groups have fewer weights a rank, which are nearly all that this chain needs memory for.
TEST(Candidates, GroupsThatDoNotFitLeaveLargerOnesToBeTried) {
  for (const SearchKind search : {SearchKind::kPlacement, SearchKind::kPipeline}) {
    SCOPED_TRACE(Name(search));
    Searched toy(Chain(), 4);
    auto candidates = toy.searcher.CandidatesOf(search, kNever);
    ASSERT_TRUE(candidates.ok()) << candidates.status();
    ASSERT_EQ(candidates->size(), 2U) << "of groups of two and of four";
    double bytes = std::max((*candidates)[0].judgement->bytes, (*candidates)[1].judgement->bytes);
    bool only_larger = false;
    for (; candidates.ok() && bytes > 1; bytes *= 0.9) {
      candidates = toy.searcher.CandidatesOf(search, bytes);
      only_larger |= candidates.ok() && candidates->size() == 1 && candidates->front().strategy.mesh.axes[1].size == 4;
    }
    EXPECT_TRUE(only_larger);
    EXPECT_TRUE(absl::IsResourceExhausted(candidates.status())) << "where no group fits: " << candidates.status();
  }
}

TEST(Candidates, LayerwiseIsSlowerOnTablesThanNoGrid) {
  for (const auto& [name, ranks] : std::vector<std::pair<std::string, int>>{
           {"lenet5", 4}, {"lenet5", 6}, {"mlp", 6}, {"mlp", 12}, {"mini-inception", 4}, {"mini-inception", 6}}) {
    SCOPED_TRACE(name + " on " + std::to_string(ranks));
    Searched toy(name, 24, ranks);
    const auto best = toy.searcher.CandidatesOf(SearchKind::kLayerwise, kNever);
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_EQ(best->front().judgement->Gap(), 0);
    for (const SearchKind search : {SearchKind::kGrid, SearchKind::kGroups}) {
      const auto grids = toy.searcher.CandidatesOf(search, kNever);
      ASSERT_TRUE(grids.ok()) << grids.status();
      for (const Candidate& grid : *grids)
        EXPECT_LE(best->front().judgement->seconds, grid.judgement->seconds * (1 + 1e-9)) << grid.plan;
    }
  }
}

}  // namespace
}  // namespace partita
