// A checkpoint of two ranks, read by boxes, and damaged in every byte.
#include "runtime/checkpoint/sharded/saved_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "runtime/base/files.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/disk.h"
#include "runtime/checkpoint/sharded/folder_lock.h"
#include "runtime/checkpoint/sharded/pieces.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Without a sync, which would take most of a test's time.
void Overwrite(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// One state of 4 x 3 numbers 0, 1, ...: rank 0 has two rows of it, rank 2 the others.
class SavedCheckpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/saved_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(SystemDisk().MakeFolder(folder_).ok());
    std::iota(values_.begin(), values_.end(), 0.0F);
    record_ = {.step = 7,
               .epoch = {.steps = 3, .loss = 0.1 + 0.2, .metrics = {{"accuracy", 1.5}}},
               .metadata = {{"partita.step", "7"}},
               .strategy = "mesh",
               .graph = {"%x = input()"},
               .states = {{"w", DType::kF32, {4, 3}, {}}},
               .shards = {}};
    WritePart(0, 0);
    WritePart(2, 2);
    WriteRecord();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  void WritePart(int rank, int64_t row) {
    const std::span<const std::byte> bytes =
        std::as_bytes(std::span(values_)).subspan(static_cast<size_t>(row) * 12, 24);
    const NamedTensor tensor{"w", DType::kF32, {2, 3}, bytes};
    const EncodedFile file = EncodeSafetensors("shard", {&tensor, 1}, {}).value();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ASSERT_TRUE(WriteNewFile(SystemDisk(), Path(ShardFile(rank)), {file.head, text}).ok());
    record_.shards.push_back({rank, static_cast<int64_t>(file.head.size() + text.size()), HashOfBytes(file.head)});
    record_.states[0].parts.push_back({rank, {{row, 0}, {2, 3}}, HashOfBytes(text)});
  }
  void WriteRecord() {
    ASSERT_TRUE(WriteFileAtomically(Path(kRecordFile), FormatRecord("record", record_).value()).ok());
  }

  // All of it, opened and read.
  absl::Status Read(std::vector<float>* read = nullptr) const {
    const absl::StatusOr<SavedCheckpoint> saved = SavedCheckpoint::Open(folder_);
    if (!saved.ok()) return saved.status();
    std::vector<float> values(12, -1);
    const absl::Status status = saved->Read(
        saved->record().states[0], [](const Box&) { return true; },
        [&](const Box& piece, const char* bytes) {
          std::memcpy(values.data() + piece.offset[0] * 3, bytes, static_cast<size_t>(piece.elements()) * 4);
        });
    if (read != nullptr) *read = values;
    return status;
  }
  std::string Refusal() const { return std::string(Read().message()); }

  std::string folder_;
  std::vector<float> values_ = std::vector<float>(12);
  CheckpointRecord record_;
};

TEST_F(SavedCheckpoints, AreReadAsTheyWereWritten) {
  std::vector<float> read;
  ASSERT_TRUE(Read(&read).ok()) << Read();
  EXPECT_EQ(read, values_);
  EXPECT_EQ(SavedCheckpoint::Open(folder_)->record(), record_);
}

TEST_F(SavedCheckpoints, OnlyPartsThatAreWantedAreRead) {
  const SavedCheckpoint saved = SavedCheckpoint::Open(folder_).value();
  std::vector<Box> pieces;
  ASSERT_TRUE(saved
                  .Read(
                      record_.states[0], [](const Box& box) { return box.offset[0] == 2; },
                      [&](const Box& piece, const char*) { pieces.push_back(piece); })
                  .ok());
  EXPECT_THAT(pieces, ElementsAre(Box{{2, 0}, {2, 3}}));
}

// In the record and in both shards, headers and tensors alike; the file is named.
TEST_F(SavedCheckpoints, EveryDamagedByteIsFound) {
  for (const std::string& name : {std::string(kRecordFile), ShardFile(0), ShardFile(2)}) {
    const std::string good = ReadFile(Path(name), 1 << 20).value();
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
      Overwrite(Path(name), bad);
      const absl::Status status = Read();
      ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name << " byte " << at;
      ASSERT_THAT(std::string(status.message()), HasSubstr(name));
    }
    Overwrite(Path(name), good);
  }
  EXPECT_TRUE(Read().ok());
}

TEST_F(SavedCheckpoints, EveryTruncationIsFound) {
  for (const std::string& name : {std::string(kRecordFile), ShardFile(2)}) {
    const std::string good = ReadFile(Path(name), 1 << 20).value();
    for (size_t length = 0; length < good.size(); ++length) {
      Overwrite(Path(name), good.substr(0, length));
      ASSERT_EQ(Read().code(), absl::StatusCode::kInvalidArgument) << name << " of " << length;
    }
    Overwrite(Path(name), good);
  }
}

TEST_F(SavedCheckpoints, DamageOfATensorNamesIt) {
  std::string shard = ReadFile(Path(ShardFile(2)), 1 << 20).value();
  shard.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(Path(ShardFile(2)), shard).ok());
  EXPECT_THAT(Refusal(), HasSubstr(ShardFile(2) + ": tensor \"w\": found checksum"));
}

TEST_F(SavedCheckpoints, AMissingShardIsNamed) {
  std::filesystem::remove(Path(ShardFile(2)));
  EXPECT_THAT(Refusal(), HasSubstr(ShardFile(2) + ": cannot open"));
}

// Who may write the folder could have anything that we may read taken for a part of it.
TEST_F(SavedCheckpoints, LinksAreNotFollowed) {
  for (const std::string& name : {std::string(kRecordFile), ShardFile(2)}) {
    const std::string elsewhere = ::testing::TempDir() + "/elsewhere";
    std::filesystem::rename(Path(name), elsewhere);
    std::filesystem::create_symlink(elsewhere, Path(name));
    EXPECT_THAT(Refusal(), HasSubstr(name + ": found a symbolic link, allowed is a file"));
    std::filesystem::rename(elsewhere, Path(name));
  }
  EXPECT_TRUE(Read().ok()) << Read();
}

TEST_F(SavedCheckpoints, AShardOfAnotherIsNamed) {
  std::filesystem::copy(Path(ShardFile(0)), Path(ShardFile(2)), std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(Refusal(), HasSubstr(ShardFile(2)));
}

TEST_F(SavedCheckpoints, WithoutARecordThereIsNone) {
  std::filesystem::remove(Path(kRecordFile));
  EXPECT_THAT(Refusal(), HasSubstr(std::string(kRecordFile) + ": cannot open"));
}

TEST_F(SavedCheckpoints, ANewerVersionIsNamedBeforeAllElse) {
  ASSERT_TRUE(WriteFileAtomically(Path(kRecordFile), R"({"format":"partita.checkpoint","version":2,"news":[]})").ok());
  EXPECT_THAT(Refusal(), HasSubstr("found version 2 of checkpoints; this program reads version 1"));
}

// What is said of a value is its text, and who walks it walks as deep as it is.
TEST_F(SavedCheckpoints, DepthIsRefused) {
  constexpr int kDepth = 300'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  Overwrite(Path(kRecordFile), R"({"format":"partita.checkpoint","version":)" + deep + "}");
  EXPECT_THAT(Refusal(), HasSubstr("version: "));
  Overwrite(Path(kRecordFile), R"({"format":"partita.checkpoint","version":1,"xxh3":"","states":)" + deep + "}");
  EXPECT_THAT(Refusal(), HasSubstr("found another text than its checksum"));
  Overwrite(Path(kRecordFile), deep);
  EXPECT_THAT(Refusal(), HasSubstr(kRecordFile));
}

// By a writer whose checksum is right.
TEST_F(SavedCheckpoints, BoxesThatDoNotTileAreRefused) {
  const CheckpointRecord good = record_;
  const auto refusal = [&](const auto& change) {
    record_ = good;
    change(record_.states[0]);
    WriteRecord();
    return Refusal();
  };
  EXPECT_THAT(refusal([](SavedState& state) { state.parts.pop_back(); }), HasSubstr("found 6 elements in 1 boxes"));
  EXPECT_THAT(refusal([](SavedState& state) { state.parts[1].box.offset[0] = 3; }),
              HasSubstr("allowed are boxes that"));
  EXPECT_THAT(refusal([](SavedState& state) { state.parts[1].rank = 5; }),
              HasSubstr(ShardFile(5) + ": tensor \"w\": not found"));
  EXPECT_THAT(refusal([](SavedState& state) { state.name = "v"; }), HasSubstr("tensor \"v\": not found as f32[2,3]"));
}

TEST(EachPiece, FollowsTheOrderOfTheBox) {
  for (const int64_t most : {1, 2, 3, 5, 7, 24}) {
    int64_t next = 0;
    const Box box{{1, 0, 2}, {2, 3, 4}};
    ASSERT_TRUE(EachPiece(box, most, [&](const Box& piece) {
                  EXPECT_LE(piece.elements(), most);
                  EXPECT_EQ(((piece.offset[0] - 1) * 3 + piece.offset[1]) * 4 + piece.offset[2] - 2, next);
                  next += piece.elements();
                  return absl::OkStatus();
                }).ok());
    EXPECT_EQ(next, 24);
  }
}

TEST_F(SavedCheckpoints, TheFolderKnowsWhichAreWhole) {
  const std::string run = folder_ + "/run";
  const auto add = [&](const std::string& folder, bool whole) {
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(WriteFileAtomically(folder + "/" + ShardFile(0), "x").ok());
    if (!whole) return;
    ASSERT_TRUE(WriteFileAtomically(folder + "/" + kRecordFile, "x").ok());
  };
  EXPECT_THAT(CheckpointSteps(SystemDisk(), run).value(), ElementsAre());
  for (const int64_t step : {5, 100, 20}) add(StepFolder(run, step), true);
  add(StepFolder(run, 300), false);
  add(WritingFolder(run, 400), true);
  add(run + "/mine", true);
  EXPECT_THAT(CheckpointSteps(SystemDisk(), run).value(), ElementsAre(5, 20, 100));
  ASSERT_TRUE(RemoveHalfWritten(SystemDisk(), run).ok());
  ASSERT_TRUE(KeepNewest(SystemDisk(), run, 2).ok());
  EXPECT_THAT(SystemDisk().List(run).value(), ElementsAre("mine", "step-000000000020", "step-000000000100"));
}

TEST_F(SavedCheckpoints, OneAtATimeHoldsAFolder) {
  {
    const absl::StatusOr<FolderLock> held = FolderLock::Take(folder_);
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_THAT(std::string(FolderLock::Take(folder_).status().message()), HasSubstr("another run writes"));
  }
  EXPECT_TRUE(FolderLock::Take(folder_).ok());
}

}  // namespace
}  // namespace partita
