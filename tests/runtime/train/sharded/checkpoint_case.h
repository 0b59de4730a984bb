// Small sessions whose states are random, and are compared by their bits.
#ifndef PARTITA_TESTS_RUNTIME_TRAIN_SHARDED_CHECKPOINT_CASE_H_
#define PARTITA_TESTS_RUNTIME_TRAIN_SHARDED_CHECKPOINT_CASE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/api/session.h"
#include "tools/benchmarks/chaos/saved_session.h"

namespace partita {

using StateBytes = std::map<std::string, std::vector<char>>;

// Each state whole; of a session that is alone.
inline StateBytes WholeStates(const Session& session) {
  StateBytes states;
  for (const std::string& name : session.StateNames()) states[name] = session.ReadState(name).value().bytes;
  return states;
}

// What the ranks of this process hold of each, one after the other; sends no message.
inline StateBytes HeldStates(Session& session) {
  StateBytes states;
  for (const std::string& name : session.StateNames()) {
    EXPECT_TRUE(session
                    .FillState(name,
                               [&](std::span<const HeldTensor> parts) {
                                 for (const HeldTensor& part : parts) {
                                   const char* const bytes = static_cast<const char*>(part.data);
                                   states[name].insert(states[name].end(), bytes, bytes + part.tensor.bytes());
                                 }
                                 return absl::OkStatus();
                               })
                    .ok());
  }
  return states;
}

// A folder of the test's own.
class CheckpointCase : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/checkpoints_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_TRAIN_SHARDED_CHECKPOINT_CASE_H_
