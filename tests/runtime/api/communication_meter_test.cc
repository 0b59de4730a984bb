#include "runtime/api/communication_meter.h"

#include <algorithm>

#include "graph/ir/gradient_moves.h"
#include "graph/timeline/overlap.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

// The spans of one kind, straight from the session's timeline.
template <typename Wanted>
std::vector<TimeRange> Ranges(const Session& session, int rank, const Wanted& wanted) {
  std::vector<TimeRange> ranges;
  for (const LaunchSpan& span : session.Timeline(kTrainEntry, rank)) {
    if (wanted(*span.launch)) ranges.push_back(RangeOf(span));
  }
  return ranges;
}

bool IsCollective(const Launch& launch) { return std::holds_alternative<CollectiveLaunch>(launch.work); }

TEST(CommunicationMeter, IsTheOverlapOfTheTimeline) {
  const auto session = SmallSession("lenet5", "2x1");
  CommunicationMeter meter(*session);
  EXPECT_TRUE(meter.Local().empty()) << "no step yet";
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Train().ok());
  meter.AddStep();
  const std::vector<RankCommunication> ranks = meter.Local();
  ASSERT_EQ(ranks.size(), 2u);
  const std::vector<bool> gradients = GradientMoves(session->program().graph(kTrainEntry));
  for (int rank = 0; rank < 2; ++rank) {
    const auto collectives = Ranges(*session, rank, IsCollective);
    const auto kernels = Ranges(*session, rank, [](const Launch& launch) { return !IsCollective(launch); });
    const auto sums = Ranges(*session, rank, [&](const Launch& l) { return IsCollective(l) && gradients[l.node]; });
    const auto backward =
        Ranges(*session, rank, [](const Launch& l) { return !IsCollective(l) && l.phase == Phase::kBackward; });
    ASSERT_FALSE(sums.empty());
    ASSERT_LT(sums.size(), collectives.size()) << "the loss is no gradient";
    const OverlapTime all = MeasureOverlap(collectives, kernels), behind = MeasureOverlap(sums, backward);
    EXPECT_EQ(ranks[rank].rank, rank);
    EXPECT_EQ(ranks[rank].steps, 1);
    EXPECT_NEAR(ranks[rank].busy, 1e-9 * static_cast<double>(all.busy_ns), 1e-15);
    EXPECT_NEAR(ranks[rank].exposed, 1e-9 * static_cast<double>(all.exposed_ns), 1e-15);
    EXPECT_NEAR(ranks[rank].gradient_busy, 1e-9 * static_cast<double>(behind.busy_ns), 1e-15);
    EXPECT_NEAR(ranks[rank].gradient_behind_backward, 1e-9 * static_cast<double>(behind.hidden_ns()), 1e-15);
    EXPECT_LE(ranks[rank].gradient_exposed, ranks[rank].gradient_busy);
    EXPECT_EQ(ranks[rank].hidden_share, all.hidden_share());
    EXPECT_EQ(ranks[rank].gradient_hidden_share, behind.hidden_share());
  }
}

TEST(CommunicationMeter, MeansOverStepsAndMediansOfShares) {
  const auto session = SmallSession("mlp", "2x1");
  CommunicationMeter meter(*session);
  std::vector<double> busy, shares;
  for (int step = 0; step < 3; ++step) {
    CommunicationMeter alone(*session);
    StageTraining(*session, MakeBatch(1, step, DType::kF32));
    ASSERT_TRUE(session->Train().ok());
    meter.AddStep();
    alone.AddStep();
    busy.push_back(alone.Local()[1].busy);
    shares.push_back(alone.Local()[1].hidden_share);
  }
  const RankCommunication rank = meter.Local()[1];
  EXPECT_EQ(rank.steps, 3);
  EXPECT_NEAR(rank.busy, (busy[0] + busy[1] + busy[2]) / 3, 1e-12);
  std::ranges::sort(shares);
  EXPECT_EQ(rank.hidden_share, shares[1]);
  const auto job = meter.Job();
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->size(), 2u);
  EXPECT_EQ((*job)[1].busy, rank.busy);
}

TEST(CommunicationMeter, OneRankIsNeverBusy) {
  const auto session = SmallSession("mlp", "1x1");
  CommunicationMeter meter(*session);
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Train().ok());
  meter.AddStep();
  ASSERT_EQ(meter.Local().size(), 1u);
  EXPECT_EQ(meter.Local()[0].busy, 0);
  EXPECT_EQ(meter.Local()[0].hidden_share, 1);
}

}  // namespace
}  // namespace partita
