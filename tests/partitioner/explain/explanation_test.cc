// Explanations of compiled plans add up, and tell what two plans do otherwise.
#include "partitioner/explain/explanation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/explain/memory_course.h"
#include "partitioner/explain/plan_difference.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/models.h"

namespace partita {
namespace {

class Explanations : public testing::Test {
 protected:
  // Of lenet5, 18 samples: uneven over 4 replicas.
  PredictedPlan PlanOf(int data, int model) {
    absl::StatusOr<Model> lenet = MakeModel("lenet5", {.batch = 18}, Ops());
    EXPECT_TRUE(lenet.ok()) << lenet.status();
    lenet->learning_rate.steps = 1;
    const auto strategy = DataModelStrategy(lenet->graph, data, model);
    EXPECT_TRUE(strategy.ok()) << strategy.status();
    auto plan = PredictPlan({*lenet, Ops(), cluster_, times_, *kernels_}, *strategy);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  const Cluster cluster_ = FourDevices();
  const KernelTimes times_;
  const std::unique_ptr<KernelLibrary> kernels_ = MakeHostKernels({.reference_only = true});
};

TEST_F(Explanations, AddUpToTheStep) {
  for (const auto& [data, model] : {std::pair(1, 1), {4, 1}, {1, 4}, {2, 2}}) {
    SCOPED_TRACE(std::to_string(data) + " x " + std::to_string(model));
    const PredictedPlan plan = PlanOf(data, model);
    const Explanation explanation = Explain(plan);
    const TimeOfStep& time = explanation.time;
    EXPECT_GT(time.step_ns, 0);
    EXPECT_NEAR(1e-9 * static_cast<double>(time.step_ns), plan.step.seconds(), 1e-9);
    int64_t at = 0;
    for (const PathStretch& stretch : explanation.path) {
      EXPECT_EQ(stretch.range.begin_ns, at);
      at = stretch.range.end_ns;
    }
    EXPECT_EQ(at, time.step_ns);
    StepShares sum;
    size_t ranks = 0;
    for (const ClassShares& of : time.classes) {
      EXPECT_EQ(of.shares.sum_ns(), time.step_ns);
      EXPECT_GE(of.shares.idle_ns, 0);
      ranks += of.ranks.size();
    }
    EXPECT_EQ(ranks, static_cast<size_t>(data * model));
    EXPECT_EQ(time.all.sum_ns(), time.step_ns * data * model);
    for (const CollectiveShares& collective : time.collectives) {
      sum.transfer_ns += collective.transfer_ns;
      sum.waiting_ns += collective.waiting_ns;
      const StepMove* const move = explanation.MoveOf(collective);
      ASSERT_NE(move, nullptr) << collective.name;
      EXPECT_FALSE(move->serves.empty()) << collective.name;
      EXPECT_GT(move->bytes.payload, 0) << collective.name;
    }
    EXPECT_EQ(sum.transfer_ns, time.all.transfer_ns);
    EXPECT_EQ(sum.waiting_ns, time.all.waiting_ns);
    EXPECT_EQ(time.collectives.empty(), data * model == 1);
    int64_t shares = 0;
    for (const PathShare& share : SharesOfPath(explanation.path, KindOfWork)) shares += share.ns;
    EXPECT_EQ(shares, time.step_ns);
  }
}

TEST_F(Explanations, MemoryIsThatOfTheArena) {
  const PredictedPlan plan = PlanOf(2, 2);
  for (const RankTimeline& timeline : plan.step.timelines) {
    const Schedule& schedule = plan.train.schedules[plan.train.of_rank[timeline.rank]];
    const std::vector<MemoryMoment> course = MemoryCourse(schedule, timeline);
    ASSERT_GT(course.size(), 10U);
    int64_t most = 0;
    for (const MemoryMoment& moment : course) most = std::max(most, moment.bytes);
    EXPECT_LE(most, schedule.memory.total);
    EXPECT_GT(most, schedule.memory.total * 9 / 10);
    EXPECT_GE(course.back().bytes, schedule.memory.parameters);
    EXPECT_LT(course.back().bytes, most);
  }
}

TEST_F(Explanations, MovesHaveTheBytesOfTheirGroups) {
  const PredictedPlan plan = PlanOf(2, 2);
  MoveBytes of_moves, of_groups;
  for (const StepMove& move : MovesOf(plan.program)) of_moves += move.bytes;
  for (const MoveBytes& bytes : PredictBytes(plan.program, plan.program.graph(kTrainEntry))) of_groups += bytes;
  EXPECT_EQ(of_moves, of_groups);
}

int64_t Sum(const std::vector<NumberDifference>& numbers, int64_t NumberDifference::*side) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0},
                         [&](int64_t sum, const NumberDifference& number) { return sum + number.*side; });
}

TEST_F(Explanations, DifferencesAddUp) {
  const PredictedPlan a = PlanOf(4, 1), b = PlanOf(2, 2);
  const PlanDifference difference = DifferenceOf(a, b);
  EXPECT_EQ(Sum(difference.step, &NumberDifference::a), difference.whole.a);
  EXPECT_EQ(Sum(difference.step, &NumberDifference::b), difference.whole.b);
  EXPECT_NE(difference.whole.more(), 0);
  const NumberDifference& arena = difference.memory.back();
  EXPECT_EQ(Sum(difference.memory, &NumberDifference::a), 2 * arena.a);  // its parts, and itself
  EXPECT_EQ(Sum(difference.memory, &NumberDifference::b), 2 * arena.b);
  EXPECT_EQ(arena.a, a.memory.total);
  EXPECT_EQ(arena.b, b.memory.total);
  const auto wire = [](const PredictedPlan& plan) {
    int64_t bytes = 0;
    for (const MoveBytes& group : PredictBytes(plan.program, plan.program.graph(kTrainEntry))) bytes += group.wire;
    return bytes;
  };
  EXPECT_EQ(Sum(difference.bytes, &NumberDifference::a), wire(a));
  EXPECT_EQ(Sum(difference.bytes, &NumberDifference::b), wire(b));
}

TEST_F(Explanations, DifferencesNameNodesAndMoves) {
  const PlanDifference difference = DifferenceOf(PlanOf(4, 1), PlanOf(2, 2));
  const auto weights = std::ranges::find(difference.splits, "dense1/matmul/weights", &SplitDifference::node);
  ASSERT_NE(weights, difference.splits.end());
  EXPECT_EQ(weights->a, "whole");
  EXPECT_EQ(weights->b, "S1/2");
  const auto images = std::ranges::find(difference.splits, "images", &SplitDifference::node);
  ASSERT_NE(images, difference.splits.end());
  EXPECT_EQ(images->a, "S0/4");
  EXPECT_EQ(images->b, "S0/2");
  EXPECT_TRUE(difference.only_a.empty());
  EXPECT_TRUE(std::ranges::any_of(difference.only_b, [](const StepMove& move) { return move.along == "model"; }));
}

TEST_F(Explanations, APlanDoesNothingOtherwiseThanItself) {
  const PredictedPlan a = PlanOf(2, 2), b = PlanOf(2, 2);
  const PlanDifference difference = DifferenceOf(a, b);
  EXPECT_GT(difference.nodes, 10);
  EXPECT_TRUE(difference.splits.empty());
  EXPECT_TRUE(difference.only_a.empty());
  EXPECT_TRUE(difference.only_b.empty());
  for (const auto* numbers : {&difference.bytes, &difference.memory, &difference.step}) {
    for (const NumberDifference& number : *numbers) EXPECT_EQ(number.more(), 0) << number.name;
  }
}

TEST(SplitOf, SaysPartsWhateverAxesAreCalled) {
  const Mesh mesh{{{"a", 2}, {"b", 3}, {"c", 1}, {"d", 4}}};
  const auto S = [](int dimension) { return AxisLayout::Split(dimension); };
  const AxisLayout R = AxisLayout::Replicate(), P = AxisLayout::Partial();
  EXPECT_EQ(SplitOf({R, R, R, R}, mesh), "whole");
  EXPECT_EQ(SplitOf({S(0), S(0), S(1), R}, mesh), "S0/6");
  EXPECT_EQ(SplitOf({S(3), S(0), R, P}, mesh), "S0/3 S3/2 P/4");
  EXPECT_EQ(SplitOf({P, R, R, P}, mesh), "P/8");
  EXPECT_EQ(SplitOf({AxisLayout::At(1), S(0), R, R}, mesh), "At1/2 S0/3");
  EXPECT_EQ(SplitOf({AxisLayout::Split(0, {0, 3, 8}), R, R, R}, mesh), "S0/2[0,3,8]");
  EXPECT_EQ(SplitOf({S(0)}, Mesh{{{"x", 2}}, "tail", {1, 4}}), "S0/2 {1,4}");
}

}  // namespace
}  // namespace partita
