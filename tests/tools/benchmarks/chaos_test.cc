// Some hundreds of the faults of `benchmark chaos`; that of real processes is
// tests/tools/commands/processes/chaos_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmarks/chaos/byte_flips.h"
#include "tools/benchmarks/chaos/chaos_benchmark.h"
#include "tools/benchmarks/chaos/save_faults.h"
#include "tools/benchmarks/chaos/saved_session.h"

namespace partita {
namespace {

using ::testing::ElementsAre;

class Chaos : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = ::testing::TempDir() + "/chaos_" + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(Chaos, EveryFlippedBitIsFoundWithItsFileAndTensor) {
  const std::unique_ptr<Session> session = SmallSession(2, 2).value();
  ASSERT_TRUE(SetRandomly(*session, 1).ok());
  ASSERT_TRUE(SystemDisk().MakeFolder(folder_).ok());
  ASSERT_TRUE(WriteCheckpoint(*session, {.step = 1}, folder_, SystemDisk()).ok());
  const absl::StatusOr<ByteFlips> flips = FlipBytes(StepFolder(folder_, 1), 400, 1);
  ASSERT_TRUE(flips.ok()) << flips.status();
  EXPECT_THAT(flips->missed, ElementsAre());
  EXPECT_EQ(flips->count(), 400);
  for (const Tally& tally : {flips->in_record, flips->in_heads, flips->in_tensors}) {
    EXPECT_GT(tally.count, 5);
    EXPECT_EQ(tally.kept, tally.count);
  }
}

TEST_F(Chaos, EverySaveThatFailsLeavesACheckpoint) {
  const absl::StatusOr<SaveFaults> faults = FailSaves(folder_, 200, 1);
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_THAT(faults->breaches, ElementsAre());
  EXPECT_EQ(faults->count(), 200);
  EXPECT_GT(faults->full.count, 20);
  EXPECT_EQ(faults->full.kept, faults->full.count);
  EXPECT_EQ(faults->ended.kept, faults->ended.count);
  EXPECT_GT(faults->old_ones, 20);
  EXPECT_GT(faults->fresh, 4);
}

TEST_F(Chaos, TellsInBothForms) {
  ChaosOptions options;
  options.jobs.kills = 0;
  options.save_faults = options.flips = 3;
  ChaosResult result = BenchmarkChaos(options).value();
  EXPECT_EQ(result.rows.size(), 5u);
  result.breaches.emplace_back("of something");
  const nlohmann::json json = nlohmann::json::parse(ToJson(result));
  int64_t count = 0;
  for (const nlohmann::json& row : json["rows"]) count += row["count"].get<int64_t>();
  EXPECT_EQ(count, 6);
  EXPECT_EQ(json["breaches"][0], "of something");
  EXPECT_NE(ToText(result).find("not as promised: of something\n"), std::string::npos);
}

}  // namespace
}  // namespace partita
