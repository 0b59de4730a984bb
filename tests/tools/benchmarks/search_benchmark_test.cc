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
    EXPECT_GT(row.timed.bytes, 0);
    EXPECT_GE(row.timed.gap, 0);
    EXPECT_GE(row.timed.layers_ms, 0);
    EXPECT_EQ(row.timed.given_layers_ms(), row.timed.edges_ms + row.timed.search_ms);
    EXPECT_DOUBLE_EQ(row.all_ms(), row.timed.layers_ms + row.timed.given_layers_ms());
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

TEST(SearchBenchmark, PlansNeedNoMoreThanTheyMay) {
  for (const SearchKind search : {SearchKind::kLayerwise, SearchKind::kGrid}) {
    SearchBenchmarkOptions options{.models = {"mlp"}, .searches = {search}, .most_ranks = 2};
    const auto free = BenchmarkSearch(options);
    ASSERT_TRUE(free.ok()) << free.status();
    ASSERT_EQ(free->size(), 1U);
    options.memory_bytes = static_cast<int64_t>((*free)[0].timed.bytes) - 1;
    const auto limited = BenchmarkSearch(options);
    ASSERT_TRUE(limited.ok()) << limited.status();
    EXPECT_LE((*limited)[0].timed.bytes, static_cast<double>(options.memory_bytes));
    EXPECT_GE((*limited)[0].timed.step_ms, (*free)[0].timed.step_ms);
    EXPECT_LE((*limited)[0].timed.gap, 0.005);
    options.memory_bytes = 1000;
    const auto none = BenchmarkSearch(options);
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_NE((*none)[0].refused.find("no plan fits 1000 bytes"), std::string::npos) << (*none)[0].refused;
    EXPECT_NE(ToText(*none).find((*none)[0].refused), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(ToJson(*none))[0]["refused"], (*none)[0].refused);
  }
}

TEST(SearchBenchmark, AModelThatThereIsNotIsNamed) {
  const auto rows = BenchmarkSearch({.models = {"mlq"}});
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.status().message().find("mlq"), std::string::npos);
}

}  // namespace
}  // namespace partita
