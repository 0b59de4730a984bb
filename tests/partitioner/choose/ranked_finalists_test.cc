// What is taken is what a comparison of all with all takes, by each objective; and what each objective looks for.
#include "partitioner/choose/ranked_finalists.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const EpochCurve kCurve{"c", {{8, 10}, {16, 11}, {64, 40}}, "", 1000};

Finalist Compiled(double seconds, int64_t bytes, Setting setting) {
  Finalist one;
  one.candidate.plan = "data:2";
  one.seconds = seconds;
  one.memory_bytes = bytes;
  one.setting = setting;
  return one;
}

TEST(Objectives, HaveNames) {
  for (const ObjectiveKind kind : kObjectives) EXPECT_EQ(FindObjective(Name(kind)), kind);
  EXPECT_FALSE(FindObjective("speed"));
}

TEST(Objectives, WhatAPlanHasOfThem) {
  const PlanFigures figures{0.5, 300, 4, 16};
  EXPECT_EQ(*ValueOf({ObjectiveKind::kStep}, figures), 0.5);
  EXPECT_EQ(*ValueOf({ObjectiveKind::kMemory}, figures), 300);
  EXPECT_EQ(*ValueOf({ObjectiveKind::kCost}, figures), 2);
  EXPECT_EQ(*ValueOf({ObjectiveKind::kTimeToAccuracy, kCurve}, figures), 0.5 * 11 * 62) << "62 whole batches";
  EXPECT_FALSE(ValueOf({ObjectiveKind::kTimeToAccuracy, kCurve}, {0.5, 300, 4, 128}).ok()) << "nothing is extrapolated";
  EXPECT_FALSE(ValueOf({ObjectiveKind::kTimeToAccuracy}, figures).ok());
}

TEST(Objectives, WhatTheyLookFor) {
  const SettingRange all{6, true, 8, true}, fixed{6, false, 8, false};
  EXPECT_THAT(SettingsOf(ObjectiveKind::kStep, all), ElementsAre(Setting{6, 8}));
  EXPECT_THAT(SettingsOf(ObjectiveKind::kMemory, all), ElementsAre(Setting{6, 8}));
  EXPECT_THAT(SettingsOf(ObjectiveKind::kCost, all),
              ElementsAre(Setting{1, 8}, Setting{2, 8}, Setting{4, 8}, Setting{6, 8}));
  EXPECT_THAT(SettingsOf(ObjectiveKind::kTimeToAccuracy, all),
              ElementsAre(Setting{6, 8}, Setting{6, 16}, Setting{6, 24}, Setting{6, 48}));
  for (const ObjectiveKind kind : kObjectives) EXPECT_THAT(SettingsOf(kind, fixed), ElementsAre(Setting{6, 8}));
}

// What has less of the objective, else the shorter step; of equals the one that was first.
bool IsBetter(const Objective& objective, const Finalist& a, const Finalist& b) {
  if (a.status.ok() != b.status.ok()) return a.status.ok();
  const auto value = [&](const Finalist& one) {
    const Setting& setting = one.setting;
    switch (objective.kind) {
      case ObjectiveKind::kStep:
        return one.seconds;
      case ObjectiveKind::kTimeToAccuracy:
        return one.seconds * (*EpochsAt(kCurve, setting.batch) * static_cast<double>(1000 / setting.batch));
      case ObjectiveKind::kMemory:
        return static_cast<double>(one.memory_bytes);
      case ObjectiveKind::kCost:
        return one.seconds * setting.ranks;
    }
    return 0.0;
  };
  return value(a) != value(b) ? value(a) < value(b) : a.seconds < b.seconds;
}

TEST(Ranked, TakesWhatBruteForceTakes) {
  std::mt19937 random(1);
  const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<uint32_t>(most)); };
  for (int round = 0; round < 1000; ++round) {
    std::vector<Finalist> finalists;
    for (int i = 0, count = 2 + draw(6); i < count; ++i) {
      Finalist one = Compiled(0.25 * (1 + draw(4)), 100 * (1 + draw(3)), {1 << draw(3), int64_t{8} << draw(4)});
      one.candidate.plan = std::to_string(i);
      if (i > 0 && draw(3) == 0) one.status = ResourceExhausted("too large");
      finalists.push_back(std::move(one));
    }
    for (const ObjectiveKind kind : kObjectives) {
      const Objective objective{kind, kCurve};
      const Finalist* best = &finalists[0];
      for (const Finalist& one : finalists) {
        if (IsBetter(objective, one, *best)) best = &one;
      }
      const auto ranked = Ranked(finalists, objective);
      ASSERT_TRUE(ranked.ok()) << ranked.status();
      ASSERT_EQ(ranked->size(), finalists.size());
      EXPECT_EQ((*ranked)[0].candidate.plan, best->candidate.plan) << Name(kind) << " in round " << round;
    }
  }
}

// Pal's decision: replicas of two devices each need fewer epochs than twice as many of one.
TEST(Ranked, LargerReplicasReachAnAccuracySooner) {
  std::vector<Finalist> finalists = {Compiled(1.0, 1, {8, 64}), Compiled(0.9, 1, {8, 16})};
  finalists[0].candidate.plan = "data:8";
  finalists[1].candidate.plan = "data:4 model:2";
  EXPECT_EQ((*Ranked(finalists, {ObjectiveKind::kTimeToAccuracy, kCurve}))[0].candidate.plan, "data:8")
      << "600 steps of 1 s against 682 of 0.9 s";
  finalists[1].seconds = 0.8;
  EXPECT_EQ((*Ranked(finalists, {ObjectiveKind::kTimeToAccuracy, kCurve}))[0].candidate.plan, "data:4 model:2");
}

TEST(Ranked, SaysWhatIsNearestWhereNoneFits) {
  std::vector<Finalist> finalists = {Compiled(1, 300, {2, 8}), Compiled(1, 200, {4, 8})};
  for (Finalist& one : finalists) one.status = ResourceExhausted("too large");
  finalists[1].lacking_bytes = 50;
  const absl::Status status = Ranked(finalists, {ObjectiveKind::kCost}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no plan of 2, 4 ranks fits"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs 200 bytes: 50 too many"));
}

TEST(PreferFewerRanks, WherePredictionsCannotTell) {
  const auto chosen = [](std::vector<Finalist> finalists, ObjectiveKind objective = ObjectiveKind::kStep) {
    auto ranked = Ranked(std::move(finalists), {objective});
    EXPECT_TRUE(ranked.ok()) << ranked.status();
    PreferFewerRanks(*ranked);
    return *std::move(ranked);
  };
  Finalist idle = Compiled(1, 100, {8, 64}), busy = Compiled(1.05, 100, {8, 64}), slow = Compiled(1.07, 100, {8, 64});
  idle.candidate.idle_ranks = 3;
  EXPECT_EQ(chosen({idle, busy})[0].seconds, 1.05);
  EXPECT_EQ(chosen({idle, slow})[0].seconds, 1) << "that much is no error";
  EXPECT_THAT(FormatFinalists(chosen({idle, busy})), HasSubstr("faster by only 4.8 %"));
  EXPECT_THAT(FormatFinalists(chosen({idle, busy})), HasSubstr("3 ranks would be idle"));
  const Finalist few = Compiled(1.05, 100, {1, 64}), fewer_but_slow = Compiled(1.2, 100, {1, 64});
  EXPECT_EQ(chosen({Compiled(1, 100, {2, 64}), few, fewer_but_slow})[0].setting.ranks, 1);
  EXPECT_EQ(chosen({Compiled(1, 100, {2, 64}), fewer_but_slow})[0].setting.ranks, 2);
  EXPECT_THAT(FormatFinalists(chosen({Compiled(1, 100, {2, 64}), few})), HasSubstr("needs 2 ranks, not 1"));
  Finalist too_large = few;
  too_large.status = ResourceExhausted("too large");
  EXPECT_EQ(chosen({Compiled(1, 100, {2, 64}), too_large})[0].setting.ranks, 2);
  EXPECT_EQ(chosen({idle, busy}, ObjectiveKind::kCost)[0].seconds, 1) << "who asks for another objective gets it";
  // Of equal waste the fastest.
  EXPECT_EQ(chosen({Compiled(1.02, 100, {2, 64}), Compiled(1.01, 100, {2, 64}), Compiled(1, 100, {4, 64})})[0].seconds,
            1.01);
}

TEST(FormatWords, SaysWhatTheTableMeans) {
  Finalist one = Compiled(1, 100, {8, 64});
  one.candidate.plan = "data:2 stage:4 (2 ranks idle), 4 micro-batches, 1f1b";
  const std::string words = FormatWords({one});
  for (const char* word : {"data:N", "stage:N", "ranks idle", "1f1b"}) EXPECT_THAT(words, HasSubstr(word));
  EXPECT_THAT(words, testing::Not(HasSubstr("model:N")));
}

TEST(FormatFinalists, TellsAllOfTheChosenSettingAndTheBestOfOthers) {
  const auto ranked = Ranked({Compiled(1, 100, {8, 64}), Compiled(1.5, 100, {8, 64}), Compiled(0.8, 100, {8, 16}),
                              Compiled(0.9, 100, {8, 16})},
                             {ObjectiveKind::kTimeToAccuracy, kCurve});
  ASSERT_TRUE(ranked.ok()) << ranked.status();
  const std::string text = FormatFinalists(*ranked);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_THAT(text, HasSubstr("batch   training s  why"));
  EXPECT_THAT(text, HasSubstr("later by 10.0 %")) << "600 s against 545.6 s";
  EXPECT_EQ(ReasonsFor(*ranked)[2], "Chosen by time-to-accuracy: 545.600 s of training.");
}

TEST(ReasonsFor, SayWhatALayerwisePlanWasChosenFrom) {
  Finalist one = Compiled(1, 100, {8, 64});
  one.candidate.judgement = Judgement{1, 100, 1, {}};
  one.candidate.search = SearchKind::kLayerwise;
  EXPECT_THAT(ReasonsFor({one}), testing::Contains(HasSubstr("all plans of grids and of groups are among those")));
  one.candidate.search = SearchKind::kGrid;
  EXPECT_THAT(ReasonsFor({one}), testing::Not(testing::Contains(HasSubstr("of groups are among"))));
}

}  // namespace
}  // namespace partita
