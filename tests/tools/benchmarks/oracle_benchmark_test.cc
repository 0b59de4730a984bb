// What `benchmark oracle` makes of what it measures, and that it measures.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tools/benchmarks/oracle/oracle_rows.h"
#include "tools/benchmarks/oracle/plan_pool.h"
#include "tools/benchmarks/oracle/timed_training.h"
#include "tools/commands/calibrate/measure_machine.h"
#include "tools/models/models.h"

namespace partita {
namespace {

StepErrorRow Row(double predicted, double measured, double spread = 0) {
  const double ratio = predicted / measured;
  StepErrorRow row{"mlp",
                   2,
                   {predicted, predicted, predicted},
                   {measured, measured, measured},
                   {ratio, ratio, ratio * (1 + spread)}};
  row.planned_bytes = row.used_bytes = 4096;
  row.predicted_wire = row.counted_wire = 640;
  return row;
}

TEST(StepErrors, AreHeldAgainstWhatIsAllowed) {
  EXPECT_NEAR(Row(0.9, 1).error(), 0.1, 1e-12);
  EXPECT_TRUE(Row(0.81, 1).holds());
  EXPECT_FALSE(Row(0.79, 1).holds());
  StepErrorRow one = Row(0.85, 1);
  one.ranks = 1;
  EXPECT_FALSE(one.holds()) << "of one rank no more than 10 % are allowed";
}

TEST(StepErrors, AreRefusedWhereRoundsSpread) {
  EXPECT_FALSE(Row(0.5, 1, 0.04).refused());
  EXPECT_FALSE(Row(0.5, 1, 0.04).holds());
  EXPECT_TRUE(Row(0.5, 1, 0.06).refused());
  EXPECT_TRUE(Row(0.5, 1, 0.06).holds()) << "nothing is said of its error";
  EXPECT_NE(ToText({Row(0.5, 1, 0.06)}).find("refused: rounds spread by 6 %, 5 % are allowed"), std::string::npos);
}

TEST(StepErrors, MemoryAndBytesAreExact) {
  StepErrorRow row = Row(1, 1, 0.06);
  row.used_bytes = 4095;
  EXPECT_FALSE(row.holds());
  row = Row(1, 1, 0.06);
  row.counted_wire = 641;
  EXPECT_FALSE(row.holds());
  EXPECT_NE(ToText(std::vector{row}).find("641 (640 predicted)"), std::string::npos);
}

TEST(PlanOrders, PairsWhoseIntervalsMeetAreNotToldApart) {
  const PlanOrder order{"mlp", 2, {{"a", 1, 2, {1.9, 2.1}}, {"b", 2, 2.05, {2.0, 2.1}}, {"c", 3, 1, {0.9, 1.1}}}};
  EXPECT_EQ(order.pairs(), 3);
  EXPECT_EQ(order.told_apart(), 2);
  EXPECT_EQ(order.inversions(), (std::vector<std::string>{"'c' before 'a'", "'c' before 'b'"}));
  EXPECT_FALSE(Holds({}, {order}));
  EXPECT_NE(ToText(order).find("2 of 3 pairs can be told apart (2 are needed), 2 of them are predicted the other "
                               "way round"),
            std::string::npos);
  EXPECT_NE(Summary({Row(1, 1)}, {order})
                .find("steps: 1 of 1 as they must be, 0 refused; orders of plans: 0 of 1; it "
                      "does not hold"),
            std::string::npos);
}

TEST(PlanOrders, EqualPredictionsAreNoOrder) {
  const PlanOrder order{"mlp", 2, {{"a", 1, 2, {1.9, 2.1}}, {"b", 1, 1, {0.9, 1.1}}}};
  EXPECT_EQ(order.told_apart(), 1);
  EXPECT_TRUE(order.inversions().empty());
  EXPECT_TRUE(Holds({}, {order}));
  EXPECT_NE(Summary({}, {order}).find("orders of plans: 1 of 1; it holds"), std::string::npos);
}

TEST(PlanOrders, TwoThirdsOfThePairsAreToldApart) {
  PlanOrder order{"mlp", 2, {{"a", 1, 2, {1.9, 2.1}}, {"b", 2, 3, {2.0, 3.1}}, {"c", 3, 4, {3.9, 4.1}}}};
  EXPECT_EQ(order.told_apart(), 2);
  EXPECT_TRUE(order.holds());
  order.plans[2].measured.low = 3;
  EXPECT_EQ(order.told_apart(), 1);
  EXPECT_FALSE(order.holds()) << "nothing is the other way round, but too little was seen";
  PlanOrder six{"mlp", 2, std::vector<OrderedPlan>(6)};
  EXPECT_EQ(six.needed(), 10);
}

TEST(RunsOfTheOracle, AreThoseThatAreToldOf) {
  const PlanOrder order{"mlp", 2, {{"a", 1, 2, {1.9, 2.1}}, {"b", 2, 3, {2.9, 3.1}}}};
  const std::vector<GradedRun> runs = RunsOf({Row(0.9, 1), Row(0.5, 1, 0.06)}, {order});
  ASSERT_EQ(runs.size(), 3U) << "one of the two rows is refused";
  EXPECT_EQ(runs[0].strategy, "data:2 model:1");
  ASSERT_EQ(runs[0].terms.size(), 2U);
  EXPECT_NEAR(runs[0].terms[0].error(), 0.1, 1e-12);
  EXPECT_EQ(runs[0].terms[1].kind, "memory");
  EXPECT_EQ(runs[0].terms[1].error(), 0);
  EXPECT_EQ(runs[2].model, "mlp");
  EXPECT_EQ(runs[2].strategy, "2 ranks: b");
  EXPECT_EQ(runs[2].terms[0].measured, 3);
}

TEST(FurthestApart, TakesWhatDiffersMost) {
  EXPECT_EQ(FurthestApart({1, 1.01, 1.02, 2, 2.02, 4}, 0, 3), (std::vector<size_t>{0, 3, 5}));
  EXPECT_EQ(FurthestApart({1, 1.01, 1.02, 2, 2.02, 4}, 1, 3), (std::vector<size_t>{1, 3, 5}));
  EXPECT_EQ(FurthestApart({1, 2, 3}, 2, 6), (std::vector<size_t>{0, 1, 2})) << "there are no more";
  EXPECT_EQ(FurthestApart({1, 1, 1, 1}, 3, 2), (std::vector<size_t>{2, 3})) << "equals, with the one that is kept";
}

TEST(StepsOfRound, LastASecond) {
  EXPECT_EQ(StepsOfRound({}, 0.026), 39);
  EXPECT_EQ(StepsOfRound({}, 0.5), 10);
  EXPECT_EQ(StepsOfRound({}, 1e-6), 2000);
  EXPECT_EQ(StepsOfRound({.steps = 4}, 0.026), 4);
}

// Each of its kernels is over within its slice of time and as quick as ever; whole steps are not.
TEST(Calibration, RanksThatShareACoreAreSlowerForIt) {
  auto model = MakeModel("mlp", {.batch = 256}, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  model->learning_rate.steps = 1;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int ranks = std::min(64, 4 * cores);
  const auto strategy = DataModelStrategy(model->graph, ranks, 1);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  const CalibrationOptions options{{}, OracleSession(), /*steps=*/8, /*replicas=*/1, /*collectives=*/false};
  const auto profile = MeasureMachine(*model, {&*strategy, 1}, options);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_GT(profile->slowdown.at(ranks), 0.5 * ranks / cores);
}

const OracleOptions kSmall{8, 2, 1, 4};

TEST(Oracle, StepsOfRealRuns) {
  const auto rows = MeasureStepErrors("mlp", kSmall);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2U) << "on one rank and on two";
  for (const StepErrorRow& row : *rows) {
    EXPECT_GT(row.predicted.median, 0);
    EXPECT_GT(row.measured.median, 0);
    EXPECT_GT(row.ratio.low, 0);
    EXPECT_GT(row.planned_bytes, 0);
    EXPECT_EQ(row.planned_bytes, row.used_bytes);
    EXPECT_EQ(row.predicted_wire > 0, row.ranks == 2);
    EXPECT_EQ(row.predicted_wire, row.counted_wire);
  }
}

TEST(Oracle, OrdersOfRealPlans) {
  const auto order = MeasurePlanOrder("mlp", 2, kSmall);
  ASSERT_TRUE(order.ok()) << order.status();
  const std::vector<OrderedPlan>& plans = order->plans;
  ASSERT_EQ(plans.size(), 6U);
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_GE(plans[i].predicted, plans[i == 0 ? 0 : i - 1].predicted);
    EXPECT_GT(plans[i].measured.low, 0);
    EXPECT_LE(plans[i].measured.low, plans[i].median);
    EXPECT_LE(plans[i].median, plans[i].measured.high);
  }
}

}  // namespace
}  // namespace partita
