// A bit that flips in what one rank holds is found and the rank named; what that costs is what was predicted.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "graph/value/dtype.h"
#include "tests/runtime/api/job/thread_job.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

// In the last byte of what a rank holds of a state.
void FlipBit(Session& session, const std::string& state, int rank) {
  const auto flip = [&](std::span<const HeldTensor> parts) {
    auto* const bytes = static_cast<unsigned char*>(parts[static_cast<size_t>(rank)].data);
    bytes[parts[static_cast<size_t>(rank)].tensor.bytes() - 1] ^= 0x10;
    return absl::OkStatus();
  };
  ASSERT_TRUE(session.FillState(state, flip).ok());
}

void TrainSteps(Session& session, int steps) {
  for (int step = 0; step < steps; ++step) {
    StageTraining(session, MakeBatch(1, step, DType::kF32, 7));
    ASSERT_TRUE(session.Train().ok());
  }
}

TEST(CheckReplicas, FindsAFlippedBitInAnyStateOfAnyRank) {
  const auto session = SmallSession("lenet5", "3x1");
  TrainSteps(*session, 2);
  EXPECT_FALSE(session->CheckReplicas()->first.has_value());
  const std::vector<std::string> states = session->StateNames();
  ASSERT_GT(states.size(), 4u);
  for (const std::string& state : states) {
    const int rank = static_cast<int>(state.size() % 3);
    FlipBit(*session, state, rank);
    const auto check = session->CheckReplicas();
    ASSERT_TRUE(check.ok() && check->first) << state;
    EXPECT_EQ(check->first->state, state);
    EXPECT_EQ(check->first->ranks, std::vector<int>{rank});
    EXPECT_EQ(check->first->others.size(), 2u);
    FlipBit(*session, state, rank);
  }
  EXPECT_FALSE(session->CheckReplicas()->first.has_value());
}

// Of two replicas nobody can say which is right; the first counts.
TEST(CheckReplicas, OfTwoTheSecondIsNamed) {
  const auto session = SmallSession("mlp", "2x2");
  TrainSteps(*session, 1);
  EXPECT_FALSE(session->CheckReplicas()->first.has_value());
  FlipBit(*session, session->StateNames().front(), 0);
  const auto check = session->CheckReplicas();
  ASSERT_TRUE(check.ok() && check->first);
  EXPECT_EQ(check->counted_bytes, 0);
  EXPECT_EQ(check->predicted_bytes, 0);
}

TEST(CheckReplicas, MovesWhatWasPredicted) {
  constexpr int kRanks = 3;
  Meeting meeting(kRanks);
  std::vector<std::thread> processes;
  for (int rank = 0; rank < kRanks; ++rank) {
    processes.emplace_back([&, rank] {
      SessionOptions options = SmallOptions();
      options.job = std::make_shared<ThreadJob>(rank, meeting);
      const auto session = SmallSession("lenet5", "3x1", options);
      for (const bool flipped : {false, true}) {
        const auto check = session->CheckReplicas();
        ASSERT_TRUE(check.ok());
        EXPECT_EQ(check->first.has_value(), flipped);
        EXPECT_EQ(check->counted_bytes, check->predicted_bytes);
        const auto states = static_cast<int64_t>(session->StateNames().size());
        EXPECT_EQ(check->predicted_bytes, 2 * (16 + 8 + 8 * states));
        if (flipped) {
          EXPECT_EQ(check->first->ranks, std::vector<int>{1});
        }
        const auto flip = [](std::span<const HeldTensor> parts) {
          static_cast<unsigned char*>(parts[0].data)[0] ^= 1;
          return absl::OkStatus();
        };
        if (rank == 1) {
          ASSERT_TRUE(session->FillState(session->StateNames().front(), flip).ok());
        }
      }
    });
  }
  for (std::thread& process : processes) process.join();
}

}  // namespace
}  // namespace partita
