#include "tools/benchmarks/search/search_benchmark.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace partita {
namespace {

TEST(SearchBenchmark, RowsSayWhatWasSearched) {
  const SearchBenchmarkOptions options{.models = {"mlp"}, .most_ranks = 4};
  const auto rows = BenchmarkSearch(options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2 * options.searches.size());
  for (size_t i = 0; i < rows->size(); ++i) {
    const SearchRow& row = (*rows)[i];
    SCOPED_TRACE(Name(row.search));
    EXPECT_EQ(row.search, options.searches[i / 2]);
    EXPECT_EQ(row.ranks, i % 2 == 0 ? 2 : 4);
    EXPECT_GT(row.ops, row.layers);
    EXPECT_GT(row.layers, 2);
    EXPECT_GT(row.timed.choices, row.layers);
    EXPECT_GT(row.timed.step_ms, 0);
    EXPECT_GE(row.timed.gap, 0);
    EXPECT_GE(row.TablesShare(), 0);
    EXPECT_LE(row.TablesShare(), 1);
    if (i % 2 == 0) {
      EXPECT_EQ(row.growth, 0);
    } else {
      EXPECT_GT(row.timed.choices, (*rows)[i - 1].timed.choices);
      EXPECT_DOUBLE_EQ(row.growth * (*rows)[i - 1].all_ms(), row.all_ms());
    }
  }
  const nlohmann::json json = nlohmann::json::parse(ToJson(*rows));
  EXPECT_EQ(json[0]["search"], "grid");
  EXPECT_EQ(json[1]["ranks"], 4);
  EXPECT_NE(ToText(*rows).find("layerwise"), std::string::npos);
}

TEST(SearchBenchmark, AModelThatThereIsNotIsNamed) {
  const auto rows = BenchmarkSearch({.models = {"mlq"}});
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.status().message().find("mlq"), std::string::npos);
}

}  // namespace
}  // namespace partita
