// Training that ends at an evaluation: when it is asked whether that is enough, and that asking changes nothing.
#include <gmock/gmock.h>

#include "tests/runtime/train/lenet_fixture.h"

namespace partita {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kBatch = 8, kPerEpoch = kTrainingSamples / kBatch;  // 6 steps

// Asks every 4 steps of two epochs.
TrainingOptions Asking(std::vector<int64_t>& asked, int64_t enough_at = 0) {
  TrainingOptions options;
  options.epochs = 2;
  options.evaluate_every = 4;
  options.is_enough = [&asked, enough_at](int64_t step, const Evaluation& evaluation) {
    EXPECT_GT(evaluation.loss, 0);
    asked.push_back(step);
    return step == enough_at;
  };
  return options;
}

TEST(Enough, EvaluationsWithinEpochsChangeNoBit) {
  TrainingOptions plainly;
  plainly.epochs = 2;
  Fixture expected = Make(kBatch, 2, 2);
  const TrainingResult without = TrainOn(expected, plainly);
  Fixture fixture = Make(kBatch, 2, 2);
  std::vector<int64_t> asked;
  const TrainingResult result = TrainOn(fixture, Asking(asked));
  EXPECT_THAT(asked, ElementsAre(4, 6, 8, 12));
  EXPECT_FALSE(result.enough);
  ASSERT_EQ(result.epochs.size(), 2u);
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(result.epochs[epoch].loss, without.epochs[epoch].loss);
    EXPECT_EQ(result.epochs[epoch].test_loss, without.epochs[epoch].test_loss);
    EXPECT_EQ(result.epochs[epoch].steps, kPerEpoch);
  }
  for (const std::string& name : expected.session->StateNames()) {
    EXPECT_EQ(fixture.session->ReadState(name)->bytes, expected.session->ReadState(name)->bytes) << name;
  }
  EXPECT_EQ(result.steps_of, without.steps_of);
  for (size_t g = 0; g < result.traffic.size(); ++g) EXPECT_EQ(result.traffic[g].bytes, without.traffic[g].bytes);
}

TEST(Enough, EndsWithinAnEpochThatCanBeGoneOnWith) {
  Fixture fixture = Make(kBatch, 1, 1);
  std::vector<int64_t> asked;
  const TrainingResult result = TrainOn(fixture, Asking(asked, 8));
  EXPECT_THAT(asked, ElementsAre(4, 6, 8));
  EXPECT_TRUE(result.enough);
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(result.stopped_by, 0);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_EQ(result.epochs[1].steps, 2);
  EXPECT_TRUE(result.epochs[1].test_loss.has_value());
  EXPECT_EQ(result.open_epoch.steps, 2);
}

TEST(Enough, EndsWithAnEpoch) {
  Fixture fixture = Make(kBatch, 1, 1);
  std::vector<int64_t> asked;
  const TrainingResult result = TrainOn(fixture, Asking(asked, kPerEpoch));
  EXPECT_THAT(asked, ElementsAre(4, 6));
  EXPECT_EQ(result.steps, kPerEpoch);
  EXPECT_EQ(result.epochs.size(), 1u);
  EXPECT_EQ(result.open_epoch.steps, 0);
}

// It may have ended there before it was asked.
TEST(Enough, ARunThatGoesOnIsAskedWhereTheOtherEnded) {
  Fixture fixture = Make(kBatch, 1, 1);
  TrainingOptions before;
  before.steps = 4;
  TrainOn(fixture, before);
  std::vector<int64_t> asked;
  TrainingOptions after = Asking(asked);
  after.first_step = 4;
  after.first_epoch.steps = 4;
  after.first_epoch.metrics = {{"accuracy", 0}};
  TrainOn(fixture, after);
  EXPECT_THAT(asked, ElementsAre(4, 6, 8, 12));
}

TEST(Enough, WithoutATestSetNobodyIsAsked) {
  Fixture fixture = Make(kBatch, 1, 1);
  fixture.data.test = nullptr;
  std::vector<int64_t> asked;
  EXPECT_EQ(TrainOn(fixture, Asking(asked)).steps, 2 * kPerEpoch);
  EXPECT_TRUE(asked.empty());
}

}  // namespace
}  // namespace partita
