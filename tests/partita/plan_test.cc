// A plan says what a session would be. It includes nothing of the project but the public header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "partita/partita.h"

namespace partita::api {
namespace {

using testing::HasSubstr;

Model Example(const std::string& name) { return *Model::FromFile("tools/models/examples/" + name + ".pbtxt"); }

std::string ErrorOf(const Result<Plan>& plan) { return plan ? "" : plan.error().message; }

TEST(PlanTest, FieldsAndSettingsPlanTheSame) {
  const Model model = Example("lenet5");
  const Result<Plan> fields = Plan::Make(model, {.data = 2, .model = 2, .cluster = "dgx1_v100"},
                                         {.memory_limit = 1 << 30, .settings = {{"batch", "32"}, {"epochs", "3"}}});
  const Result<Plan> text =
      Plan::Make(model, {"dp = 2\nmp = 2\ncluster = dgx1_v100\nmemory = 1GiB\nbatch = 32\nsave = never.safetensors"});
  ASSERT_TRUE(fields && text) << ErrorOf(fields) << ErrorOf(text);
  EXPECT_EQ(*fields->Json(), *text->Json());
  EXPECT_EQ(*fields->Page(), *text->Page());
  EXPECT_EQ(fields->summary().split, "data:2 model:2");
  EXPECT_EQ(fields->summary().ranks, 4);
  EXPECT_EQ(fields->summary().batch, 32);
  EXPECT_EQ(fields->summary().memory_limit_bytes, 1 << 30);
}

TEST(PlanTest, ASessionRunsTheStrategyOfAPlan) {
  const Model model = Example("mlp");
  const Result<Plan> plan = Plan::Make(model, {.search = "auto", .ranks = 2, .cluster = "two_cores"}, {});
  ASSERT_TRUE(plan) << ErrorOf(plan);
  const std::string path = testing::TempDir() + "/planned.pbtxt";
  std::ofstream(path) << *plan->StrategyText();
  const Result<Plan> again = Plan::Make(model, {.strategy_file = path, .cluster = "two_cores"}, {});
  ASSERT_TRUE(again) << ErrorOf(again);
  EXPECT_EQ(again->summary().step_seconds, plan->summary().step_seconds);
  EXPECT_EQ(again->summary().memory_bytes, plan->summary().memory_bytes);
  EXPECT_THAT(*again->StrategyText(), HasSubstr("It fits as it was given."));
  const Result<Session> session =
      Session::Start(model, {.strategy_file = path, .cluster = "two_cores"}, {.threads_per_rank = 1});
  EXPECT_TRUE(session) << session.error().message;
  std::remove(path.c_str());
}

TEST(PlanTest, WhatDoesNotFitIsRefusedOrRepaired) {
  const Model model = Example("mini_inception");
  const int64_t needed = Plan::Make(model, {.data = 2}, {})->summary().memory_bytes;
  const Options tight{.memory_limit = needed * 3 / 4};
  const Result<Plan> refused = Plan::Make(model, {.data = 2, .cluster = "dgx1_v100"}, tight);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(tight.memory_limit)));
  Options repairing = tight;
  repairing.settings = {{"repair", "true"}};
  const Result<Plan> repaired = Plan::Make(model, {.data = 2, .cluster = "dgx1_v100"}, repairing);
  ASSERT_TRUE(repaired) << ErrorOf(repaired);
  EXPECT_LE(repaired->summary().memory_bytes, tight.memory_limit);
  EXPECT_THAT(*repaired->StrategyText(), HasSubstr("# "));
}

TEST(PlanTest, WrongArgumentsAreSentences) {
  const Model model = Example("mlp");
  EXPECT_THAT(ErrorOf(Plan::Make(model, {.data = 2, .search = "auto"}, {})), HasSubstr("one of them is allowed"));
  EXPECT_THAT(ErrorOf(Plan::Make(model, {.search = "auto"}, {})), HasSubstr("search=auto needs cluster or profile"));
  EXPECT_THAT(ErrorOf(Plan::Make(model, {"objectve = memory"})), HasSubstr("there is no setting 'objectve'"));
  EXPECT_THAT(ErrorOf(Plan::Make(model, {"explain = true"})), HasSubstr("there is no setting 'explain'"));
  EXPECT_THAT(ErrorOf(Plan::Make(model, {.strategy_file = "none.pbtxt"}, {})), HasSubstr("none.pbtxt"));
  // Sessions have no settings of plans.
  const Result<Session> session = Session::Start(model, {"objective = memory"});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, HasSubstr("there is no setting 'objective'"));
}

TEST(PlanTest, ManyThreadsReadOne) {
  const Result<Plan> plan = Plan::Make(Example("mlp"), {.data = 2, .cluster = "two_cores"}, {});
  ASSERT_TRUE(plan) << ErrorOf(plan);
  const std::string page = *plan->Page();
  std::atomic<int> equal{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) readers.emplace_back([&] { equal += *plan->Page() == page && plan->Json() ? 1 : 0; });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(equal, 4);
}

}  // namespace
}  // namespace partita::api
