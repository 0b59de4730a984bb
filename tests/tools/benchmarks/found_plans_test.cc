#include "tools/benchmarks/search/found_plans.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ops/registry.h"
#include "tools/models/transformers/gpt2.h"

namespace partita {
namespace {

TEST(FoundPlans, AreNoSlowerThanThoseByHand) {
  FoundPlansOptions options;
  options.clusters = {"dgx1_v100", "gb200_nvl72"};
  options.ranks = {2, 4, 16};  // a DGX-1 has 8 devices
  options.batch = 4;
  options.make = [](int64_t batch) {
    Gpt2Options sizes{
        .batch = batch, .length = 64, .positions = 64, .words = 1001, .width = 128, .heads = 4, .layers = 2};
    return MakeGpt2(sizes, Ops());
  };
  options.examples = "tools/models/examples/gpt2";
  const auto rows = FindPlans(options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 5);
  for (const FoundPlansRow& row : *rows) {
    SCOPED_TRACE(row.cluster + " " + std::to_string(row.ranks));
    EXPECT_EQ(row.batch, std::max(4, row.ranks));
    ASSERT_EQ(row.by_hand.size(), 5);
    EXPECT_GT(row.by_hand[0].ms, 0) << "data";
    EXPECT_EQ(row.by_hand[3].ms > 0, row.ranks > 2) << "data x tensor";
    EXPECT_GT(row.LeastByHand(), 0);
    EXPECT_LE(row.ms, row.LeastByHand());
    EXPECT_FALSE(row.plan.empty());
  }
  const nlohmann::json json = nlohmann::json::parse(ToJson(*rows));
  EXPECT_EQ(json[0]["by_hand"][1]["name"], "tensor");
  EXPECT_EQ(json[4]["ranks"], 16);
  EXPECT_EQ(ToText(*rows).find("cluster"), 0);
}

}  // namespace
}  // namespace partita
