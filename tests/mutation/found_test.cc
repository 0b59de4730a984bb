// Random changes of strategies that searches found: 1,000 of them are refused with a diagnostic, or compute what one
// rank does. What is only planned, or stops before the comparison, is none of them. The number of a test is its seed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "ops/registry.h"
#include "partitioner/choose/candidates.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "tests/mutation/judge.h"
#include "tests/mutation/mutate_strategy.h"
#include "tests/partitioner/hosts.h"

namespace partita {
namespace {

constexpr int kMutations = 1000, kMostDrawn = 2 * kMutations;
constexpr int kSubjects = 6;  // models as they are drawn, each searched on 2, 3 and 4 ranks

// A model with each strategy that is found for it.
std::vector<Subject> FoundFor(int seed, int ranks) {
  Dice dice(static_cast<uint64_t>(seed));
  const Subject drawn = DrawSubject(dice);
  const absl::StatusOr<Graph> graph = GraphOf(drawn);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto layers = FindLayers(*graph, Ops());
  EXPECT_TRUE(layers.ok()) << layers.status();
  const Cluster cluster = FourWithFastLinks();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times};
  Searcher searcher(*graph, *layers, ranks, basis);
  std::vector<Subject> found;
  for (const SearchKind search : kSearches) {
    const auto candidates = searcher.CandidatesOf(search, kNever);
    EXPECT_TRUE(candidates.ok()) << candidates.status();
    for (const Candidate& candidate : *candidates) {
      found.push_back(drawn);
      found.back().strategy = candidate.strategy;
    }
  }
  return found;
}

const std::vector<Subject>& AllFound() {
  static const auto& all = *[] {
    auto* const subjects = new std::vector<Subject>;
    for (int seed = 0; seed < kSubjects; ++seed) {
      for (const int ranks : {2, 3, 4}) {
        for (Subject& found : FoundFor(seed, ranks)) subjects->push_back(std::move(found));
      }
    }
    return subjects;
  }();
  return all;
}

TEST(Found, IsRefusedOrComputesTheSameWhateverIsChanged) {
  std::map<Outcome, int> counts;
  const auto judged = [&] { return counts[Outcome::kRefused] + counts[Outcome::kRan]; };
  for (int seed = 0; judged() < kMutations; ++seed) {
    ASSERT_LT(seed, kMostDrawn) << "most are neither refused nor compared";
    Dice dice(static_cast<uint64_t>(seed));
    Subject subject = dice.Pick(AllFound());
    std::string said = std::to_string(seed) + ": " + subject.model + " on " + subject.strategy.mesh.ToString();
    for (size_t mutations = 1 + dice.Below(2); mutations-- > 0;) said += "; " + MutateStrategy(subject, dice);
    SCOPED_TRACE(said);
    const Verdict verdict = Judge(subject);
    ++counts[verdict.outcome];
    ASSERT_NE(verdict.outcome, Outcome::kWrong) << verdict.why;
  }
  std::cout << counts[Outcome::kRefused] << " were refused, " << counts[Outcome::kRan] << " ran as one rank does, "
            << counts[Outcome::kPlanned] + counts[Outcome::kStopped] << " beside them were not compared\n";
  EXPECT_GT(counts[Outcome::kRefused], kMutations / 10) << "changes are too tame";
  EXPECT_GT(counts[Outcome::kRan], kMutations / 10) << "changes are too wild";
}

}  // namespace
}  // namespace partita
