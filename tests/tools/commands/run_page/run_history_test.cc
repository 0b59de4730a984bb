#include "tools/commands/run_page/run_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace partita {
namespace {

TEST(RunHistory, TakesWhatLinesSay) {
  RunHistory history;
  history.Add(R"({"event":"run","time":"t0","steps":50,"batch":8,"first_step":20})");
  EXPECT_EQ(history.step, 20);
  history.Add(
      R"({"event":"step","time":"t1","step":30,"epoch":0.6,"loss":2.5,"metrics":{"accuracy":0.5,"error":null}})");
  history.Add(R"({"event":"evaluation","step":30,"epoch":0.6,"loss":null,"metrics":{}})");
  for (const char* wrong : {"", "{", "[]", "1", R"({"event":7})", R"({"event":"step","step":"x","metrics":3})"}) {
    history.Add(wrong);
  }
  history.Add(R"({"event":"end","time":"t2","step":31,"outcome":"failed","error":"<lost>"})");
  ASSERT_EQ(history.steps().size(), 2u);
  EXPECT_EQ(history.steps()[0].loss, 2.5);
  EXPECT_EQ(history.steps()[0].metrics[0].second, 0.5);
  EXPECT_TRUE(std::isnan(history.steps()[0].metrics[1].second));
  EXPECT_TRUE(std::isnan(history.evaluations()[0].loss));
  EXPECT_EQ(history.planned_steps, 50);
  EXPECT_EQ(history.step, 31);
  EXPECT_EQ(history.outcome, "failed");
  EXPECT_EQ(history.error, "<lost>");
  EXPECT_EQ(history.time, "t2");
}

TEST(RunHistory, ThinsALongRun) {
  RunHistory history;
  constexpr int64_t kLines = 20000;
  for (int64_t step = 1; step <= kLines; ++step) {
    history.Add(fmt::format(R"({{"event":"step","step":{},"loss":{}}})", step, step % 2));
  }
  EXPECT_LT(history.steps().size(), RunHistory::kMostLines);
  EXPECT_GE(history.steps().size(), RunHistory::kMostLines / 2);
  EXPECT_EQ(history.steps().back().step, kLines);
  EXPECT_DOUBLE_EQ(history.steps().front().loss, 0.5);  // the mean of many
}

}  // namespace
}  // namespace partita
