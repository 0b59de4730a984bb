// A checkpoint that is written while steps run is of the step at which it was begun.
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
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
