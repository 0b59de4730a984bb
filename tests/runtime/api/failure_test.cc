// A session ends cleanly whatever happens to one of its ranks, and says what it was.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "runtime/base/status.h"
#include "tests/runtime/api/job/thread_job.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

void SetAll(Session& session, const std::string& state, float value) {
  HostTensor tensor = *session.ReadState(state);
  for (size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) std::memcpy(&tensor.bytes[i], &value, sizeof(float));
  ASSERT_TRUE(session.WriteState(state, tensor).ok());
}

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

TEST(Failure, ALossThatIsNotFiniteNamesStepAndFirstValue) {
  for (const char* strategy : {"1x1", "2x2", "placement"}) {
    auto session = *Session::Start(SmallProgram("mlp", strategy, /*regularized=*/false), SmallOptions());
    StageTraining(*session, MakeBatch(1, 0, DType::kF32));
    ASSERT_TRUE(session->Train().ok());
    // Products of the second layer overflow, which relu's node computes; those of the first do not.
    SetAll(*session, "dense1/matmul/weights", 1e30f);
    SetAll(*session, "dense2/matmul/weights", 1e30f);
    StepInputs batch = MakeBatch(1, 1, DType::kF32);
    const float bright = 1;
    for (size_t i = 0; i < batch.images.bytes.size(); i += 4) std::memcpy(&batch.images.bytes[i], &bright, 4);
    StageTraining(*session, batch);
    const absl::Status refused = session->Train().status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange) << refused;
    EXPECT_FALSE(Mentions(refused, "first value")) << refused;
    StageTraining(*session, batch);
    const absl::Status status = session->Diagnose();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    EXPECT_TRUE(Mentions(status, std::string(refused.message()))) << status;
    EXPECT_TRUE(Mentions(status, "step 2")) << status;
    EXPECT_TRUE(Mentions(status, "'loss'")) << status;
    EXPECT_TRUE(Mentions(status, "'dense2/relu'")) << status;
  }
}

TEST(Failure, OfAStepThatWasAppliedThereIsNothingToFind) {
  const auto session = SmallSession("mlp", "2x1");
  EXPECT_TRUE(session->Diagnose().ok()) << "nothing ran";
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Train().ok());
  EXPECT_TRUE(session->Diagnose().ok());
  const HostTensor good = *session->ReadState("dense1/matmul/weights");
  SetAll(*session, "dense1/matmul/weights", std::numeric_limits<float>::quiet_NaN());
  StageTraining(*session, MakeBatch(1, 1, DType::kF32));
  EXPECT_EQ(session->Train().status().code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(session->WriteState("dense1/matmul/weights", good).ok());
  StageTraining(*session, MakeBatch(1, 2, DType::kF32));
  ASSERT_TRUE(session->Train().ok()) << "the session goes on";
  EXPECT_TRUE(session->Diagnose().ok());
}

// The last row of a batch has no class.
StepInputs WrongBatch(int step) {
  StepInputs batch = MakeBatch(1, step, DType::kF32);
  const int32_t no_class = 10;
  std::memcpy(batch.labels.bytes.data() + 6 * sizeof(int32_t), &no_class, sizeof(int32_t));
  return batch;
}

// Three steps, the second of wrong data. Returns the parameters' bytes, and of the step the error.
std::pair<std::string, absl::Status> TrainWrongly(const std::string& strategy, const SessionOptions& options) {
  const auto session = SmallSession("lenet5", strategy, options);
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  EXPECT_TRUE(session->Train().ok());
  StageTraining(*session, WrongBatch(1));
  const absl::Status refused = session->Train().status();
  StageTraining(*session, WrongBatch(1));
  EXPECT_EQ(session->Diagnose(), refused) << "there is nothing else to find";
  StageEvaluation(*session, WrongBatch(1));
  EXPECT_EQ(session->Evaluate().status().code(), absl::StatusCode::kInvalidArgument);
  StageTraining(*session, MakeBatch(1, 2, DType::kF32));
  EXPECT_TRUE(session->Train().ok()) << "the session is as good as before";
  const HostTensor weights = *session->ReadState("conv1/conv/weights");
  return {{weights.bytes.begin(), weights.bytes.end()}, refused};
}

// One rank's kernel refuses its data: no other waits for it, no state changes, and all say the same.
TEST(Failure, WrongDataIsAnErrorOfTheStepAlone) {
  for (const char* strategy : {"1x1", "2x1", "2x2", "mixed"}) {
    const auto [weights, refused] = TrainWrongly(strategy, SmallOptions());
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_THAT(std::string(refused.message()), testing::MatchesRegex("step 2: .*node '[a-z@_]+': sample 6 of the "
                                                                      "batch has label 10, allowed are 0 to 9"));
    const auto session = SmallSession("lenet5", strategy);
    for (const int step : {0, 2}) {
      StageTraining(*session, MakeBatch(1, step, DType::kF32));
      ASSERT_TRUE(session->Train().ok());
    }
    const HostTensor expected = *session->ReadState("conv1/conv/weights");
    EXPECT_EQ(weights, std::string(expected.bytes.begin(), expected.bytes.end())) << strategy;
  }
}

TEST(Failure, ProcessesSayTheSameOfWrongData) {
  const auto [weights, refused] = TrainWrongly("2x2", SmallOptions());
  Meeting meeting(4);
  std::vector<std::pair<std::string, absl::Status>> of_rank(4);
  std::vector<std::thread> processes;
  for (int rank = 0; rank < 4; ++rank) {
    processes.emplace_back([&, rank] {
      SessionOptions options = SmallOptions();
      options.job = std::make_shared<ThreadJob>(rank, meeting);
      of_rank[static_cast<size_t>(rank)] = TrainWrongly("2x2", options);
    });
  }
  for (std::thread& process : processes) process.join();
  for (const auto& [own_weights, own_refused] : of_rank) {
    EXPECT_EQ(own_weights, weights);
    EXPECT_EQ(own_refused.code(), absl::StatusCode::kInvalidArgument) << own_refused;
    EXPECT_THAT(std::string(own_refused.message()), testing::HasSubstr("sample 6 of the batch has label 10"));
    EXPECT_EQ(own_refused, of_rank[0].second);
  }
}

TEST(Failure, AnAbortEndsTheStepThatRuns) {
  const absl::Status reason = absl::UnavailableError("the user is gone");
  SessionOptions options = SmallOptions();
  options.tests.delay_seed = 1;
  const auto session = SmallSession("mini-inception", "2x2", options);
  std::atomic<bool> started{false};
  std::thread other([&] {
    started.wait(false);
    session->Abort(reason);
  });
  absl::Status status;
  for (int step = 0; step < 1000 && status.ok(); ++step) {
    StageTraining(*session, MakeBatch(1, step, DType::kF32));
    status = session->Train().status();
    started.store(true);
    started.notify_all();
  }
  other.join();
  EXPECT_EQ(status.code(), reason.code()) << status;
}

TEST(Failure, ASessionMayBeDestroyedAtAnyTime) {
  for (int steps = 0; steps < 3; ++steps) {
    const auto session = SmallSession("mlp", "2x2");
    for (int step = 0; step < steps; ++step) {
      StageTraining(*session, MakeBatch(1, step, DType::kF32));
      EXPECT_TRUE(session->Train().ok());
    }
  }
}

}  // namespace
}  // namespace partita
