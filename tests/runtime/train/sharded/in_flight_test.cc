// A checkpoint that is written while steps run is of the step at which it was begun.
#include <fstream>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/folder_lock.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tests/runtime/train/sharded/checkpoint_case.h"

namespace partita {
namespace {

using Contained = std::map<std::string, std::string>;

Contained StatesOf(const Session& session) {
  Contained states;
  for (const auto& [name, bytes] : WholeStates(session)) states[name] = std::string(bytes.begin(), bytes.end());
  return states;
}

class InFlight : public CheckpointCase {
 protected:
  std::vector<int64_t> Steps() const { return CheckpointSteps(SystemDisk(), folder_).value(); }
};

// How many bytes it may copy.
class InFlightOf : public InFlight, public ::testing::WithParamInterface<int64_t> {};

TEST_P(InFlightOf, HoldsTheStatesOfItsBeginning) {
  const std::unique_ptr<Session> session = SmallSession(2, 2).value();
  ASSERT_TRUE(SetRandomly(*session, 1).ok());
  const Contained before = StatesOf(*session);
  auto checkpoint = CheckpointInFlight::Begin(*session, {.step = 7}, folder_, SystemDisk(), GetParam());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  ASSERT_TRUE(SetRandomly(*session, 2).ok());
  EXPECT_EQ(Steps(), std::vector<int64_t>());
  EXPECT_EQ((*checkpoint)->Advance().value(), false);
  EXPECT_EQ((*checkpoint)->Advance().value(), true);
  EXPECT_EQ(Steps(), std::vector<int64_t>({7}));
  EXPECT_EQ(Contents(StepFolder(folder_, 7)).value(), before);
  EXPECT_NE(StatesOf(*session), before);
}

INSTANTIATE_TEST_SUITE_P(Copied, InFlightOf, ::testing::Values(int64_t{1} << 30, 0));

TEST_F(InFlight, OneThatIsGivenUpIsNone) {
  const std::unique_ptr<Session> session = SmallSession(1, 2).value();
  ASSERT_TRUE(CheckpointInFlight::Begin(*session, {.step = 7}, folder_, SystemDisk(), 1 << 30).ok());
  EXPECT_EQ(Steps(), std::vector<int64_t>());
  ASSERT_TRUE(RemoveHalfWritten(SystemDisk(), folder_).ok());
  EXPECT_EQ(SystemDisk().List(folder_).value(), std::vector<std::string>());
}

// Before it is begun, while shards are written, and before it gets its name.
TEST_F(InFlight, AFolderThatIsAnotherRunsMeanwhileIsNotWrittenTo) {
  const std::unique_ptr<Session> session = SmallSession(1, 2).value();
  for (int stage = 0; stage < 3; ++stage) {
    const FolderLock own = FolderLock::Take(folder_).value();
    std::optional<FolderLock> other;
    const auto replace = [&](int now) {
      if (now != stage) return;
      std::filesystem::rename(folder_, folder_ + ".old");
      std::filesystem::create_directory(folder_);
      other = FolderLock::Take(folder_).value();
    };
    const auto save = [&]() -> absl::Status {
      replace(0);
      ASSIGN_OR_RETURN(const auto checkpoint,
                       CheckpointInFlight::Begin(*session, {.step = 7}, folder_, SystemDisk(), 0, &own));
      replace(1);
      RETURN_IF_ERROR(checkpoint->Advance().status());
      replace(2);
      return checkpoint->Advance().status();
    };
    const absl::Status saved = save();
    EXPECT_NE(std::string(saved.message()).find("is not the folder that this run has locked"), std::string::npos)
        << stage << saved;
    EXPECT_EQ(SystemDisk().List(folder_).value(), std::vector<std::string>({"lock"})) << stage;
    EXPECT_TRUE(other->Check().ok());
    std::filesystem::remove_all(folder_ + ".old");
  }
}

TEST_F(InFlight, AFolderThatIsGoneIsNotMadeAnew) {
  const std::unique_ptr<Session> session = SmallSession(1, 2).value();
  std::filesystem::remove_all(folder_);
  EXPECT_FALSE(WriteCheckpoint(*session, {.step = 7}, folder_, SystemDisk()).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

// A folder of the name, with a stranger's file, is used, and the file stays; a link is not.
TEST_F(InFlight, WhatIsInTheWay) {
  const std::unique_ptr<Session> session = SmallSession(1, 2).value();
  const std::string victim = folder_ + ".victim", stranger = "/notes.txt";
  std::filesystem::create_directory(victim);
  std::ofstream(victim + stranger) << "x";
  std::filesystem::create_directory_symlink(victim, WritingFolder(folder_, 1));
  std::filesystem::create_directory_symlink(victim, StepFolder(folder_, 2));
  for (const int64_t step : {1, 2}) {
    EXPECT_EQ(WriteCheckpoint(*session, {.step = step}, folder_, SystemDisk()).code(),
              absl::StatusCode::kInvalidArgument);
  }
  std::filesystem::create_directory(WritingFolder(folder_, 3));
  std::ofstream(WritingFolder(folder_, 3) + stranger) << "x";
  EXPECT_TRUE(WriteCheckpoint(*session, {.step = 3}, folder_, SystemDisk()).ok());
  EXPECT_TRUE(std::filesystem::exists(StepFolder(folder_, 3) + stranger));
  EXPECT_EQ(Steps(), std::vector<int64_t>({3}));
  EXPECT_EQ(SystemDisk().List(victim).value(), std::vector<std::string>({"notes.txt"}));
  std::filesystem::remove_all(victim);
}

TEST_F(InFlight, WhatIsNotFiniteIsRefusedAtItsBeginning) {
  const std::unique_ptr<Session> session = SmallSession(1, 2).value();
  for (const std::string& name : session->StateNames()) {
    HostTensor state = session->ReadState(name).value();
    if (state.dtype != DType::kF32) continue;
    std::fill(state.bytes.begin(), state.bytes.end(), '\xff');
    ASSERT_TRUE(session->WriteState(name, state).ok());
    break;
  }
  const auto checkpoint = CheckpointInFlight::Begin(*session, {.step = 7}, folder_, SystemDisk(), 1 << 30);
  EXPECT_EQ(checkpoint.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(SystemDisk().List(folder_).value(), std::vector<std::string>());
}

}  // namespace
}  // namespace partita
