// What `benchmark oracle` makes of what it measures, and that it measures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/device/host/cores.h"
#include "tools/benchmarks/oracle/oracle_rows.h"
#include "tools/benchmarks/oracle/plan_pool.h"
#include "tools/benchmarks/oracle/round_drift.h"
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
  EXPECT_NE(ToText({Row(0.5, 1, 0.06)}).find("not shown: rounds spread by 6 %, 5 % are allowed"), std::string::npos);
}

// What was not shown did not fail, but nobody may say that it holds.
TEST(StepErrors, WhatIsNotShownIsSaid) {
  const StepErrorRow shown = Row(0.9, 1), not_shown = Row(0.5, 1, 0.06);
  EXPECT_EQ(Summary({shown, not_shown, not_shown}, {}),
            "\nsteps: 1 of 3 shown to be as they must be, 2 not shown; orders of plans: 0 of 0; nothing that is shown "
            "fails\n");
  EXPECT_TRUE(Holds({not_shown}, {}));
  EXPECT_EQ(Summary({not_shown}, {}).find("it holds"), std::string::npos);
  EXPECT_NE(Summary({shown}, {}).find("; it holds\n"), std::string::npos);
  EXPECT_NE(Summary({not_shown, Row(0.5, 1)}, {}).find("; it does not hold\n"), std::string::npos);
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
                .find("steps: 1 of 1 shown to be as they must be, 0 not shown; orders of plans: 0 of 1; it "
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

TEST(RunsOfTheOracle, HaveWhatKindsOfLaunchesTake) {
  StepErrorRow row = Row(0.9, 1);
  row.predicted_kinds = {{"group data", 0.2}, {"op conv2d", 0.3}, {"op sum", 0.1}};
  row.measured_kinds = {{"group data", 0.25}, {"op conv2d", 0.3}, {"copies", 0.1}};
  OrderedPlan plan{"a", 1, 2, {1.9, 2.1}};
  plan.predicted_kinds = plan.measured_kinds = {{"op matmul", 0.5}};
  const std::vector<GradedRun> runs = RunsOf({row}, {{"mlp", 2, {plan}}});
  ASSERT_EQ(runs.size(), 2U);
  ASSERT_EQ(runs[0].terms.size(), 4U) << "what was only predicted or only measured is no term";
  EXPECT_EQ(runs[0].terms[2].kind, "group data");
  EXPECT_NEAR(runs[0].terms[2].error(), 0.2, 1e-12);
  EXPECT_EQ(runs[0].terms[3].kind, "op conv2d");
  ASSERT_EQ(runs[1].terms.size(), 2U);
  EXPECT_EQ(runs[1].terms[1].kind, "op matmul");
}

TEST(FurthestApart, TakesWhatDiffersMost) {
  EXPECT_EQ(FurthestApart({1, 1.01, 1.02, 2, 2.02, 4}, 0, 3), (std::vector<size_t>{0, 3, 5}));
  EXPECT_EQ(FurthestApart({1, 1.01, 1.02, 2, 2.02, 4}, 1, 3), (std::vector<size_t>{1, 3, 5}));
  EXPECT_EQ(FurthestApart({1, 2, 3}, 2, 6), (std::vector<size_t>{0, 1, 2})) << "there are no more";
  EXPECT_EQ(FurthestApart({1, 1, 1, 1}, 3, 2), (std::vector<size_t>{2, 3})) << "equals, with the one that is kept";
}

// The third round is half as slow again for all: nothing of it is left.
TEST(RoundDrift, IsWhatARoundDoesToAll) {
  const auto values = WithoutDrift({{10, 10, 15, 10}, {20, 20, 30, 20}, {30, 30, 45, 30}});
  const std::vector<double> ordinary = {10, 20, 30};
  ASSERT_EQ(values.size(), 3U);
  for (size_t c = 0; c < values.size(); ++c) {
    for (const double value : values[c]) EXPECT_NEAR(value, ordinary[c], 1e-12);
  }
}

TEST(RoundDrift, WhatACaseDoesAloneIsLeft) {
  const auto values = WithoutDrift({{10, 10, 13, 10, 10}, {20, 20, 20, 20, 20}, {30, 30, 30, 30, 30}});
  EXPECT_NEAR(values[0][2], 10 + 3 * std::sqrt(1.5), 1e-12) << "stretched, as one of three cases";
  EXPECT_NEAR(values[0][1], 10, 1e-12);
  EXPECT_NEAR(values[1][2], 20, 1e-12) << "the median of a round is not moved by one of its cases";
}

TEST(RoundDrift, OfOneCaseIsNotKnown) {
  EXPECT_EQ(WithoutDrift({{1, 2, 3}}), (std::vector<std::vector<double>>{{1, 2, 3}}));
}

TEST(StepsOfRound, LastASecond) {
  EXPECT_EQ(StepsOfRound({}, 0.026), 39);
  EXPECT_EQ(StepsOfRound({}, 0.5), 10);
  EXPECT_EQ(StepsOfRound({}, 1e-6), 2000);
  EXPECT_EQ(StepsOfRound({.steps = 4}, 0.026), 4);
}

TEST(TurnsOf, AreShort) {
  const auto turns = [](int64_t steps) { return std::pair{TurnsOf(steps, 5).count, TurnsOf(steps, 5).steps}; };
  EXPECT_EQ(turns(1), (std::pair<int64_t, int64_t>{1, 1}));
  EXPECT_EQ(turns(4), (std::pair<int64_t, int64_t>{4, 1}));
  EXPECT_EQ(turns(6), (std::pair<int64_t, int64_t>{3, 2}));
  EXPECT_EQ(turns(500), (std::pair<int64_t, int64_t>{5, 100}));
  EXPECT_EQ(turns(501), (std::pair<int64_t, int64_t>{5, 101}));
}

// Each of its kernels is over within its slice of time and as quick as ever; whole steps are not.
TEST(Calibration, RanksThatShareACoreAreSlowerForIt) {
  auto model = MakeModel("mlp", {.batch = 256}, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  model->learning_rate.steps = 1;
  const int cores = UsableCores();
  const int ranks = std::min(64, 4 * cores);
  const auto strategy = DataModelStrategy(model->graph, ranks, 1);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  const CalibrationOptions options{OracleProgram(ranks), OracleSession(ranks), /*steps=*/8, /*replicas=*/1,
                                   /*collectives=*/false};
  const auto profile = MeasureMachine(*model, {&*strategy, 1}, options);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_GT(profile->slowdown.at(ranks), 0.5 * ranks / cores);
}

const MeasuredModel kMlp{"mlp", 8, 28};
const OracleOptions kSmall{2, 1, 4};

// A row that is not refused, whatever the machine did meanwhile.
StepErrorRow WithoutSpread(StepErrorRow row) {
  row.ratio.low = row.ratio.high = row.ratio.median;
  return row;
}

// Of which kind some term is, that took time.
bool HasTermOf(const std::vector<GradedTerm>& terms, const std::string& kind) {
  return std::ranges::any_of(terms, [&](const GradedTerm& term) {
    return term.kind.starts_with(kind) && term.predicted > 0 && term.measured > 0;
  });
}

TEST(Oracle, StepsOfRealRuns) {
  const auto rows = MeasureStepErrors(kMlp, kSmall);
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
    const std::vector<GradedTerm> terms = RunsOf({WithoutSpread(row)}, {})[0].terms;
    EXPECT_EQ(HasTermOf(terms, "group data"), row.ranks == 2);
    EXPECT_TRUE(HasTermOf(terms, "op "));
  }
}

TEST(Oracle, OrdersOfRealPlans) {
  const auto order = MeasurePlanOrder(kMlp, 2, {2, 3, 4});
  ASSERT_TRUE(order.ok()) << order.status();
  const std::vector<OrderedPlan>& plans = order->plans;
  ASSERT_EQ(plans.size(), 6U);
  const auto found = [](const OrderedPlan& plan) { return plan.plan.ends_with(" (found)"); };
  EXPECT_EQ(std::ranges::count_if(plans, found), 1);
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_GE(plans[i].predicted, plans[i == 0 ? 0 : i - 1].predicted);
    EXPECT_GT(plans[i].measured.low, 0);
    EXPECT_LE(plans[i].measured.low, plans[i].median);
    EXPECT_LE(plans[i].median, plans[i].measured.high);
    EXPECT_GT(plans[i].predicted_kinds.size(), 3U);
    for (const auto& [kind, seconds] : plans[i].predicted_kinds)
      EXPECT_TRUE(plans[i].measured_kinds.contains(kind)) << kind;
  }
}

}  // namespace
}  // namespace partita
