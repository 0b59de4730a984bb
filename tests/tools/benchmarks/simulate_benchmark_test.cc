#include "tools/benchmarks/simulate_benchmark.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace partita {
namespace {

TEST(SimulateBenchmark, RowsSayWhatWasSimulated) {
  const auto rows = BenchmarkSimulate({.cases = {{"mini-inception", 32, 2}, {"mini-inception", 512, 2}}, .rounds = 1});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  const SimulateRow &few = (*rows)[0], &many = (*rows)[1];
  EXPECT_EQ(few.ranks, 64);
  EXPECT_EQ(many.ranks, 1024);
  EXPECT_EQ(few.classes, many.classes) << "the others are alike";
  EXPECT_EQ(many.launches, 16 * few.launches);
  EXPECT_GT(few.step_ms, 0);
  EXPECT_GT(many.step_ms, few.step_ms) << "sums over more ranks";
  const nlohmann::json json = nlohmann::json::parse(ToJson(*rows));
  EXPECT_EQ(json[1]["ranks"], 1024);
  EXPECT_NE(ToText(*rows).find("mini-inception"), std::string::npos);
}

}  // namespace
}  // namespace partita
