#include "tools/benchmarks/compile_benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace partita {
namespace {

TEST(CompileBenchmark, RowsSayWhatWasCompiled) {
  const auto rows = BenchmarkCompile({.cases = {{200, 2, 2}, {2000, 2, 2}, {200, 1, 3}}, .rounds = 1});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].ranks, 4);
  EXPECT_EQ((*rows)[2].ranks, 3);
  for (const CompileRow& row : *rows) {
    EXPECT_GT(row.program_nodes, 2 * row.nodes);  // the backward pass and the update are at least as large
    EXPECT_GT(row.partition_ms, 0);
    EXPECT_GT(row.schedule_ms, 0);
    EXPECT_GT(row.verify_schedule_ms, 0);
    EXPECT_LT(row.one_rank_ms, row.total_ms);
    EXPECT_DOUBLE_EQ(row.total_ms, row.verify_ms + row.partition_ms + row.schedule_ms + row.verify_schedule_ms);
  }
  EXPECT_NEAR(static_cast<double>((*rows)[0].program_nodes), 200, 20);
  EXPECT_NEAR(static_cast<double>((*rows)[1].program_nodes), 2000, 20);
}

TEST(CompileBenchmark, AllFormsHaveTheSameColumns) {
  CompileRow row;
  row.nodes = 7;
  row.program_nodes = 23;
  row.ranks = 4;
  row.total_ms = 1.5;
  const std::vector<CompileRow> rows = {row, row};
  const nlohmann::json json = nlohmann::json::parse(ToJson(rows));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["program_nodes"], 23);
  EXPECT_EQ(json[1]["total_ms"], 1.5);
  std::istringstream csv(ToCsv(rows)), text(ToText(rows));
  std::string header, line, titles;
  std::getline(csv, header);
  std::getline(csv, line);
  std::getline(text, titles);
  EXPECT_EQ(std::count(header.begin(), header.end(), ',') + 1, static_cast<int>(json[0].size()));
  EXPECT_EQ(line.substr(0, 7), "7,23,4,");
  for (const auto& [name, value] : json[0].items()) {
    EXPECT_NE(header.find(name), std::string::npos) << name;
    EXPECT_NE(titles.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace partita
