// Whatever strategy wrote a checkpoint, every other one reads it, to the bit.
#include <filesystem>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"
#include "runtime/train/sharded/load_checkpoint.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tests/graph/shipped/shipped.h"
#include "tests/runtime/train/sharded/checkpoint_case.h"

namespace partita {
namespace {

std::unique_ptr<Session> SessionOf(const Shipped& shipped) {
  SessionOptions options;
  options.threads_per_rank = 1;
  Program program = MakeProgram(shipped.Load().value(), shipped.LoadSplit().value(), Ops(), {}).value();
  return Session::Start(std::move(program), options).value();
}

class AnyStrategy : public CheckpointCase {};

TEST_F(AnyStrategy, OfLeNet5ReadsWhatAnyOtherWrote) {
  std::vector<std::pair<std::string, std::unique_ptr<Session>>> sessions;
  for (const Shipped& shipped : kShipped) {
    if (std::string(shipped.model) == "lenet5") sessions.emplace_back(shipped.strategy, SessionOf(shipped));
  }
  ASSERT_GE(sessions.size(), 8u);
  for (size_t writer = 0; writer < sessions.size(); ++writer) {
    Session& writes = *sessions[writer].second;
    ASSERT_TRUE(SetRandomly(writes, static_cast<uint32_t>(writer)).ok());
    const StateBytes written = WholeStates(writes);
    const auto step = static_cast<int64_t>(writer);
    ASSERT_TRUE(WriteCheckpoint(writes, {.step = step}, folder_, SystemDisk()).ok());
    const absl::StatusOr<SavedCheckpoint> saved = SavedCheckpoint::Open(StepFolder(folder_, step));
    ASSERT_TRUE(saved.ok()) << saved.status();
    for (const auto& [reader, reads] : sessions) {
      ASSERT_TRUE(SetRandomly(*reads, 1000).ok());
      ASSERT_TRUE(CheckStates(*saved, reads->program()).ok());
      ASSERT_TRUE(LoadCheckpoint(*saved, *reads).ok());
      EXPECT_EQ(WholeStates(*reads), written) << sessions[writer].first << " -> " << reader;
      for (const std::string& state : reads->StateNames()) EXPECT_TRUE(reads->ReplicasEqual(state).value()) << state;
    }
  }
}

// A replica writes nothing that a rank before it has: all shards together are no larger than the states.
TEST_F(AnyStrategy, WritesEveryElementOnce) {
  for (const Shipped& shipped : kShipped) {
    if (std::string(shipped.model) != "lenet5") continue;
    const std::unique_ptr<Session> session = SessionOf(shipped);
    ASSERT_TRUE(WriteCheckpoint(*session, {.step = 1}, folder_, SystemDisk()).ok());
    const SavedCheckpoint saved = SavedCheckpoint::Open(StepFolder(folder_, 1)).value();
    for (const SavedState& state : saved.record().states) {
      int64_t elements = 0;
      for (const SavedPart& part : state.parts) elements += part.box.elements();
      EXPECT_EQ(elements, Elements(state.shape)) << shipped.strategy << " " << state.name;
    }
    std::filesystem::remove_all(StepFolder(folder_, 1));
  }
}

}  // namespace
}  // namespace partita
