// What another process says that it wrote: a damaged message is refused, and names no state, rank or box out of range.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/train/sharded/shard_writer.h"

namespace partita {
namespace {

constexpr int kRanks = 3;

const std::vector<SavedState> kStates = {{"w", DType::kF32, {4, 3}, {}}, {"b", DType::kF32, {}, {}}};

WrittenShards SomeShards() {
  WrittenShards shards;
  shards.shards = {{1, 1000, "00ff"}, {2, 2000, "ff00"}};
  shards.parts = {{0, {1, {{0, 0}, {2, 3}}, "aa"}}, {0, {2, {{2, 0}, {2, 3}}, "bb"}}, {1, {2, {{}, {}}, "cc"}}};
  return shards;
}

void ExpectInRange(const WrittenShards& shards) {
  for (const SavedShard& shard : shards.shards) EXPECT_TRUE(shard.rank >= 0 && shard.rank < kRanks) << shard.rank;
  for (const WrittenPart& part : shards.parts) {
    ASSERT_TRUE(part.state >= 0 && part.state < 2) << part.state;
    EXPECT_TRUE(part.part.rank >= 0 && part.part.rank < kRanks) << part.part.rank;
    const size_t dimensions = kStates[static_cast<size_t>(part.state)].shape.size();
    EXPECT_EQ(part.part.box.offset.size(), dimensions);
    EXPECT_EQ(part.part.box.size.size(), dimensions);
  }
}

TEST(ShardMessage, ComesBack) {
  const absl::StatusOr<WrittenShards> read = Unpack(Pack(SomeShards()), 1, kStates, kRanks);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Pack(*read), Pack(SomeShards()));
}

TEST(ShardMessage, AnyDamageIsRefusedOrInRange) {
  const std::string packed = Pack(SomeShards());
  for (size_t place = 0; place < packed.size(); ++place) {
    for (const unsigned char value : {0x00, 0x01, 0x02, 0x03, 0x7f, 0x80, 0xff}) {
      std::string mutant = packed;
      mutant[place] = static_cast<char>(value);
      const absl::StatusOr<WrittenShards> read = Unpack(mutant, 1, kStates, kRanks);
      if (read.ok()) {
        ExpectInRange(*read);
      } else {
        EXPECT_TRUE(absl::IsUnavailable(read.status())) << read.status();
      }
    }
  }
}

TEST(ShardMessage, EveryTruncationIsRefusedOrEndsBehindAPart) {
  const std::string packed = Pack(SomeShards());
  int whole = 0;
  for (size_t size = 0; size < packed.size(); ++size) {
    const absl::StatusOr<WrittenShards> read = Unpack(packed.substr(0, size), 1, kStates, kRanks);
    if (read.ok()) {
      ++whole;
      ExpectInRange(*read);
    }
  }
  EXPECT_EQ(whole, 3);  // behind the shards, and behind each part but the last
}

TEST(ShardMessage, OfAProgramWithoutStatesThereAreNoParts) {
  EXPECT_FALSE(Unpack(Pack(SomeShards()), 1, {}, kRanks).ok());
}

}  // namespace
}  // namespace partita
