// A model is saved and loaded from where its states lie; `benchmark checkpoint --states=4096` does it with 4 GiB.
#include "tools/benchmarks/train/large_checkpoint.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(LargeCheckpoint, ComesBackAndTakesNoMemoryBesideTheStates) {
  constexpr int64_t kMiB = 1 << 20;
  const auto measured =
      MeasureLargeCheckpoint({.state_bytes = 96 * kMiB, .threads = 1, .folder = ::testing::TempDir()});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_TRUE(measured->same);
  EXPECT_GE(measured->state_bytes, 96 * kMiB);
  EXPECT_LT(measured->state_bytes, 100 * kMiB);
  ASSERT_EQ(measured->phases.size(), 3u);
  const int64_t trained = measured->phases[0].peak_bytes;
  EXPECT_GT(trained, measured->planned_bytes * 9 / 10);
  for (const LargeCheckpoint::Phase& phase : measured->phases) {
    EXPECT_LT(phase.peak_bytes, trained + 32 * kMiB) << phase.what << ": of so many states a third is no copy";
  }
  EXPECT_NE(ToText(*measured).find("to the bit"), std::string::npos);
  EXPECT_NE(ToJson(*measured).find("\"same\": true"), std::string::npos);
}

TEST(LargeCheckpoint, FitsInHalfAsMuchAgain) {
  LargeCheckpoint measured;
  measured.state_bytes = 100;
  measured.phases = {{"train", 1, 150}, {"save", 1, 140}};
  EXPECT_TRUE(measured.fits());
  measured.phases.push_back({"load", 1, 151});
  EXPECT_FALSE(measured.fits());
  EXPECT_NE(ToText(measured).find("MORE THAN 1.5 times"), std::string::npos);
}

TEST(LargeCheckpoint, SaysThatAFolderIsNone) {
  EXPECT_EQ(MeasureLargeCheckpoint({.folder = "/dev/null"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace partita
