#include "tools/benchmarks/library/library_benchmark.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace partita {
namespace {

TEST(LibraryBenchmark, HasARowForStepsAndOneForPredictions) {
  const auto rows = BenchmarkLibrary({.models = {"mlp"}, .batch = 8, .steps = 2, .rounds = 1});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].call, "step");
  EXPECT_EQ((*rows)[0].batch, 8);
  EXPECT_EQ((*rows)[1].call, "predict");
  EXPECT_EQ((*rows)[1].batch, 1);
  for (const LibraryRow& row : *rows) {
    EXPECT_GT(row.own_us, 0);
    EXPECT_GT(row.cpp, 0);
    EXPECT_LE(row.c_low, row.c);
    EXPECT_GE(row.c_high, row.c);
  }
  const nlohmann::json json = nlohmann::json::parse(ToJson(*rows));
  EXPECT_EQ(json[1]["model"], "mlp");
  EXPECT_NE(ToText(*rows).find("predict"), std::string::npos);
  EXPECT_FALSE(BenchmarkLibrary({.models = {"mlpp"}}).ok());
}

}  // namespace
}  // namespace partita
