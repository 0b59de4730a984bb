// Votes change nothing but what they are for: the same losses and states to the bit, the bytes that are predicted, and
// no collective more where something is added up over all ranks anyway.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "graph/make_program.h"
#include "graph/schedule/schedule.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

std::unique_ptr<Session> Start(const Case& one, bool counts, DType floating = DType::kF32) {
  const Model model = *MakeSmallModel(one, 1e-2);
  const ProgramOptions options{.floating = floating, .count_votes = counts, .verify_passes = true};
  auto session = Session::Start(*PlanOf(one, model, options), SmallOptions());
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

int64_t Collectives(const Session& session, const std::string& entry, int rank) {
  const std::vector<Launch>& launches = session.schedule(entry, rank).launches;
  return std::ranges::count_if(
      launches, [](const Launch& launch) { return std::holds_alternative<CollectiveLaunch>(launch.work); });
}

// Ranks that the votes name say 1, the others 0.
void Cast(const Session& session, const std::vector<int>& votes) {
  const std::vector<HeldTensor> places = *session.VotePlacements(kTrainEntry);
  ASSERT_EQ(places.size(), static_cast<size_t>(session.ranks()));
  for (int rank = 0; rank < session.ranks(); ++rank) {
    *static_cast<float*>(places[rank].data) = std::ranges::count(votes, rank) > 0 ? 1 : 0;
  }
}

// 7 samples on 2, 3 and 4 ranks, axes of one rank, stages, micro-batches, branches, several meshes.
class Votes : public testing::TestWithParam<Case> {};

TEST_P(Votes, ChangeNothingElse) {
  const Case& one = GetParam();
  const auto without = Start(one, false), with = Start(one, true);
  const int ranks = with->ranks();
  EXPECT_TRUE(without->VotePlacements(kTrainEntry)->empty());
  with->ResetCounters();
  const std::vector<std::vector<int>> votes = {{}, {0}, {ranks - 1}, {0, ranks - 1}, {}};
  for (size_t step = 0; step < votes.size(); ++step) {
    const StepInputs batch = MakeBatch(1, static_cast<int>(step), DType::kF32, BatchOf(one));
    StageTraining(*without, batch);
    StageTraining(*with, batch);
    Cast(*with, votes[step]);
    const absl::StatusOr<StepResult> expected = without->Train(), result = with->Train();
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
    EXPECT_EQ(result->loss, expected->loss);
    EXPECT_EQ(result->metrics, expected->metrics);
    EXPECT_EQ(with->votes(), static_cast<double>(votes[step].size()));
    EXPECT_FALSE(without->votes().has_value());
  }
  ASSERT_EQ(with->StateNames(), without->StateNames());
  for (const std::string& name : with->StateNames()) {
    EXPECT_EQ(with->ReadState(name)->bytes, without->ReadState(name)->bytes) << name;
  }
  const std::vector<GroupTraffic> counted = with->Traffic();
  const std::vector<MoveBytes> predicted = with->PredictedBytes(kTrainEntry);
  const auto steps = static_cast<int64_t>(votes.size());
  for (size_t g = 0; g < counted.size(); ++g) {
    EXPECT_EQ(counted[g].bytes, (MoveBytes{steps * predicted[g].payload, steps * predicted[g].wire}));
  }
}

TEST_P(Votes, CostAtMostOneCollective) {
  const auto without = Start(GetParam(), false), with = Start(GetParam(), true);
  for (const char* const entry : {kTrainEntry, kEvaluateEntry}) {
    for (int rank = 0; rank < with->ranks(); ++rank) {
      const int64_t more = Collectives(*with, entry, rank) - Collectives(*without, entry, rank);
      EXPECT_GE(more, 0);
      EXPECT_LE(more, 1) << entry << " of rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, Votes,
                         testing::Values(Case{"mlp", "2x1"}, Case{"mlp", "3x1"}, Case{"mlp", "1x2"}, Case{"mlp", "2x2"},
                                         Case{"lenet5", "mixed", true}, Case{"lenet5", "micro_data"},
                                         Case{"lenet5", "1f1b"}, Case{"lenet5", "2x3_3x2"},
                                         Case{"mini-inception", "placement", true}),
                         [](const auto& one) { return one.param.Name(); });

// What replicas add up is their loss: the vote rides on it.
TEST(VotesOfReplicas, CostNoCollective) {
  for (const char* const strategy : {"2x1", "3x1"}) {
    for (const char* const model : {"mlp", "lenet5", "mini-inception"}) {
      const Case one{model, strategy, true};
      const auto without = Start(one, false), with = Start(one, true);
      for (const char* const entry : {kTrainEntry, kEvaluateEntry}) {
        for (int rank = 0; rank < with->ranks(); ++rank) {
          EXPECT_EQ(Collectives(*with, entry, rank), Collectives(*without, entry, rank)) << one << " " << entry;
        }
        ASSERT_EQ(with->program().groups.size(), without->program().groups.size());
        for (size_t g = 0; g < with->program().groups.size(); ++g) {
          const int64_t more = with->PredictedBytes(entry)[g].payload - without->PredictedBytes(entry)[g].payload;
          EXPECT_EQ(more, int64_t{sizeof(float)}) << "one element";
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
