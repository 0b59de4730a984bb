// A checkpoint folder in which others have put links, folders and files: nothing of theirs is followed or removed, and
// what of it is in the way is named.
#include "runtime/checkpoint/sharded/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/checkpoint/sharded/folder_lock.h"
#include "runtime/checkpoint/sharded/record.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kShard[] = "rank-00000.safetensors";

void Write(const std::string& path) { std::ofstream(path) << "x"; }

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

class CheckpointFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    base_ = ::testing::TempDir() + "/folders_" + std::to_string(::getpid()) + "_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(base_);
    fs::create_directories(run_ = base_ + "/run");
    fs::create_directories(victim_ = base_ + "/victim");
    for (const char* name : {"thesis.txt", kShard, kRecordFile}) Write(victim_ + "/" + name);
  }
  void TearDown() override { fs::remove_all(base_); }

  void AddCheckpoint(const std::string& folder, bool whole) {
    fs::create_directories(folder);
    Write(folder + "/" + kShard);
    if (whole) Write(folder + "/" + kRecordFile);
  }
  void LinkToVictim(const std::string& path) { fs::create_directory_symlink(victim_, path); }
  void ExpectVictimWhole() { EXPECT_THAT(Names(victim_), ElementsAre(kShard, "thesis.txt", kRecordFile)); }
  std::vector<std::string> Names(const std::string& folder) { return SystemDisk().List(folder).value(); }

  std::string base_, run_, victim_;
  Disk& disk_ = SystemDisk();
};

TEST_F(CheckpointFolders, LinksAreNotCheckpointsAndAreNotFollowed) {
  LinkToVictim(StepFolder(run_, 7));
  LinkToVictim(WritingFolder(run_, 8));
  LinkToVictim(run_ + "/damaged-000000000009");
  AddCheckpoint(StepFolder(run_, 3), true);
  AddCheckpoint(StepFolder(run_, 9), true);
  EXPECT_THAT(CheckpointSteps(disk_, run_).value(), ElementsAre(3, 9));
  const absl::Status cleaned = RemoveHalfWritten(disk_, run_);
  EXPECT_THAT(MessageOf(cleaned), HasSubstr("step-000000000007"));
  EXPECT_THAT(MessageOf(cleaned), HasSubstr("writing-000000000008"));
  EXPECT_TRUE(SetAside(disk_, run_, 3).ok());
  EXPECT_TRUE(KeepNewest(disk_, run_, 1).ok());
  ExpectVictimWhole();
  EXPECT_THAT(Names(run_), ElementsAre("damaged-000000000009", "damaged-000000000009.2", "step-000000000003",
                                       "step-000000000007", "writing-000000000008"));
}

// A name of ours that is a link goes, what it leads to stays.
TEST_F(CheckpointFolders, LinksWithinACheckpointAreRemovedThemselves) {
  AddCheckpoint(StepFolder(run_, 1), true);
  fs::remove(StepFolder(run_, 1) + "/" + kShard);
  fs::create_symlink(victim_ + "/thesis.txt", StepFolder(run_, 1) + "/" + kShard);
  fs::create_directory_symlink(victim_, StepFolder(run_, 1) + "/rank-00001.safetensors");
  AddCheckpoint(StepFolder(run_, 2), true);
  EXPECT_TRUE(KeepNewest(disk_, run_, 1).ok());
  ExpectVictimWhole();
  EXPECT_THAT(Names(run_), ElementsAre("step-000000000002"));
}

TEST_F(CheckpointFolders, OnlyFilesOfOurNamesAreRemoved) {
  for (const char* name : {"rank-1.safetensors", "rank-00001.safetensors.bak", "rank-0000x.safetensors",
                           "rank--0001.safetensors", "trainer_state.json~", "notes.txt", "rank-.safetensors"}) {
    EXPECT_FALSE(IsCheckpointFile(name)) << name;
  }
  EXPECT_TRUE(IsCheckpointFile(ShardFile(0)));
  EXPECT_TRUE(IsCheckpointFile(ShardFile(123456)));
  AddCheckpoint(StepFolder(run_, 1), true);
  fs::create_directory(StepFolder(run_, 1) + "/notes");
  Write(StepFolder(run_, 1) + "/notes/" + kShard);
  fs::create_directory(StepFolder(run_, 1) + "/rank-00005.safetensors");  // of our name, but a folder
  for (const int64_t step : {2, 3}) AddCheckpoint(StepFolder(run_, step), true);
  const absl::Status kept = KeepNewest(disk_, run_, 1);
  EXPECT_THAT(MessageOf(kept), HasSubstr("step-000000000001/notes: is no file of a checkpoint"));
  EXPECT_THAT(Names(run_), ElementsAre("step-000000000001", "step-000000000003"));
  EXPECT_THAT(Names(StepFolder(run_, 1)), ElementsAre("notes", "rank-00005.safetensors"));
  EXPECT_THAT(Names(StepFolder(run_, 1) + "/notes"), ElementsAre(kShard));
  EXPECT_THAT(CheckpointSteps(disk_, run_).value(), ElementsAre(3));
}

// One that cannot be removed keeps no other from it.
TEST_F(CheckpointFolders, CleaningReportsAllThatStays) {
  for (const int64_t step : {1, 2, 3, 4}) AddCheckpoint(StepFolder(run_, step), step == 4);
  fs::create_directory(StepFolder(run_, 1) + "/mine");
  Write(StepFolder(run_, 3) + "/mine.txt");
  Write(StepFolder(run_, 5));  // a file
  const absl::Status cleaned = RemoveHalfWritten(disk_, run_);
  for (const char* stays : {"step-000000000001/mine:", "step-000000000003/mine.txt:", "step-000000000005:"}) {
    EXPECT_THAT(MessageOf(cleaned), HasSubstr(stays));
  }
  EXPECT_THAT(CheckpointSteps(disk_, run_).value(), ElementsAre(4));
  EXPECT_FALSE(fs::exists(StepFolder(run_, 2)));
}

TEST_F(CheckpointFolders, WhatIsSetAsideReplacesNothing) {
  const std::string damaged = run_ + "/damaged-000000000005";
  for (int i = 0; i < 3; ++i) {
    AddCheckpoint(StepFolder(run_, 5), true);
    ASSERT_TRUE(SetAside(disk_, run_, 4).ok());
    Write(damaged + (i == 0 ? "" : "." + std::to_string(i + 1)) + "/notes.txt");
  }
  EXPECT_THAT(Names(run_), ElementsAre("damaged-000000000005", "damaged-000000000005.2", "damaged-000000000005.3"));
  EXPECT_TRUE(fs::exists(damaged + "/notes.txt"));
}

TEST_F(CheckpointFolders, NoOperationGoesThroughALink) {
  const std::string link = WritingFolder(run_, 1);
  LinkToVictim(link);
  for (const absl::Status& status :
       {disk_.Create(link + "/new").status(), disk_.RemoveFile(link + "/thesis.txt"), disk_.MakeFolder(link + "/new"),
        disk_.MakeFolder(link), disk_.RemoveFolder(link), disk_.SyncFolder(link), disk_.List(link).status(),
        disk_.Rename(link + "/thesis.txt", run_ + "/thesis.txt"), disk_.Rename(run_ + "/x", link + "/x"),
        RemoveCheckpoint(disk_, link)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("link")) << status;
  }
  EXPECT_EQ(disk_.KindOf(link), Disk::Kind::kOther);
  ExpectVictimWhole();
}

TEST_F(CheckpointFolders, ARenameReplacesNothing) {
  AddCheckpoint(WritingFolder(run_, 1), true);
  fs::create_directory(StepFolder(run_, 1));
  EXPECT_FALSE(disk_.Rename(WritingFolder(run_, 1), StepFolder(run_, 1)).ok());
  EXPECT_TRUE(fs::exists(WritingFolder(run_, 1)));
}

// The folder becomes a link when it has been listed: between the look and the deed.
class SwappingDisk : public Disk {
 public:
  explicit SwappingDisk(std::function<void(const std::string&)> swap) : swap_(std::move(swap)) {}
  Kind KindOf(const std::string& path) override { return SystemDisk().KindOf(path); }
  absl::Status MakeFolder(const std::string& path) override { return SystemDisk().MakeFolder(path); }
  absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path) override {
    return SystemDisk().Create(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override { return SystemDisk().Rename(from, to); }
  absl::Status SyncFolder(const std::string& path) override { return SystemDisk().SyncFolder(path); }
  absl::Status RemoveFile(const std::string& path) override { return SystemDisk().RemoveFile(path); }
  absl::Status RemoveFolder(const std::string& path) override { return SystemDisk().RemoveFolder(path); }
  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    absl::StatusOr<std::vector<std::string>> names = SystemDisk().List(folder);
    swap_(folder);
    return names;
  }

 private:
  std::function<void(const std::string&)> swap_;
};

TEST_F(CheckpointFolders, AFolderThatBecomesALinkMeanwhileIsNotFollowed) {
  AddCheckpoint(WritingFolder(run_, 1), true);
  SwappingDisk disk([&](const std::string& folder) {
    fs::rename(folder, folder + ".moved");
    LinkToVictim(folder);
  });
  EXPECT_FALSE(RemoveCheckpoint(disk, WritingFolder(run_, 1)).ok());
  ExpectVictimWhole();
}

TEST_F(CheckpointFolders, AUsersOwnLinkIsResolvedOnce) {
  fs::create_directory_symlink(run_, base_ + "/link");
  EXPECT_EQ(ResolveLink(base_ + "/link"), fs::canonical(run_).string());
  EXPECT_EQ(ResolveLink(run_), run_);
  EXPECT_EQ(ResolveLink(base_ + "/none"), base_ + "/none");
}

TEST_F(CheckpointFolders, ALockIsOfTheFolderThatHasTheName) {
  const auto checked = [&](const std::function<void()>& change) {
    fs::remove_all(run_);
    fs::create_directory(run_);
    const absl::StatusOr<FolderLock> lock = FolderLock::Take(run_);
    EXPECT_TRUE(lock.ok()) << lock.status();
    EXPECT_TRUE(lock->Check().ok());
    change();
    return MessageOf(lock->Check());
  };
  const auto says = HasSubstr("run: is not the folder that this run has locked");
  EXPECT_THAT(checked([&] { fs::remove_all(run_); }), says);
  EXPECT_THAT(checked([&] { fs::rename(run_, run_ + ".old"); }), says);
  EXPECT_THAT(checked([&] { fs::remove(run_ + "/lock"); }), says);
  EXPECT_THAT(checked([&] {
                fs::rename(run_, run_ + ".other");
                fs::create_directory(run_);
                EXPECT_TRUE(FolderLock::Take(run_).ok());
              }),
              says);
  EXPECT_EQ(checked([&] { Write(run_ + "/other"); }), "");
}

TEST_F(CheckpointFolders, ALockIsAFileAndNoLink) {
  fs::create_symlink(victim_ + "/made", run_ + "/lock");
  EXPECT_THAT(MessageOf(FolderLock::Take(run_).status()), HasSubstr("run/lock: is a symbolic link"));
  ExpectVictimWhole();
  fs::remove(run_ + "/lock");
  ASSERT_EQ(::mkfifo((run_ + "/lock").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf(FolderLock::Take(run_).status()), HasSubstr("run/lock: is not a file"));
  fs::remove(run_ + "/lock");
  fs::create_directory(run_ + "/lock");
  EXPECT_FALSE(FolderLock::Take(run_).ok());
}

}  // namespace
}  // namespace partita
