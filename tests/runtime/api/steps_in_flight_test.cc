// One step in flight behind the other gives the bits of one step at a time, and ends as cleanly. Built twice: for ranks
// on the host, and (FAR_GPU) for ranks on a GPU made of the host (far_gpu.cc), where the second step has really begun.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <thread>

#include "runtime/base/status.h"
#include "tests/runtime/api/session_fixture.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

#ifdef FAR_GPU
constexpr bool kFarGpu = true;
#else
constexpr bool kFarGpu = false;
#endif

constexpr int kSteps = 5;

SessionOptions Options() {
  SessionOptions options = SmallOptions();
  if (kFarGpu) options.device.gpu = 0;
  return options;
}

std::unique_ptr<Session> Start(const Case& one) {
  auto session = Session::Start(SmallProgram(one.model, one.strategy, one.regularized), Options());
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

StepInputs Batch(const Case& one, int step) { return MakeBatch(1, step, DType::kF32, BatchOf(one)); }

StepInputs WithoutNumbers(StepInputs batch) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 0; i < batch.images.bytes.size(); i += sizeof(nan)) {
    std::memcpy(&batch.images.bytes[i], &nan, sizeof(nan));
  }
  return batch;
}

absl::Status Begin(Session& session, const StepInputs& batch) {
  return session.Begin(kTrainEntry, [&]() -> absl::Status {
    StageTraining(session, batch);
    return absl::OkStatus();
  });
}

absl::StatusOr<StepResult> Train(Session& session, const StepInputs& batch) {
  StageTraining(session, batch);
  return session.Train();
}

void ExpectTheSameStates(const Session& session, const Session& expected) {
  for (const std::string& name : expected.StateNames()) {
    EXPECT_EQ(session.ReadState(name)->bytes, expected.ReadState(name)->bytes) << name;
  }
}

// 7 samples on 1 to 4 ranks; stages with micro-batches; branches on different ranks.
class StepsInFlight : public testing::TestWithParam<Case> {};

TEST_P(StepsInFlight, AreTheBitsOfOneStepAtATime) {
  const Case& one = GetParam();
  const auto alone = Start(one), session = Start(one);
  alone->ResetCounters();
  session->ResetCounters();
  ASSERT_OK(Begin(*session, Batch(one, 0)));
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 < kSteps) ASSERT_OK(Begin(*session, Batch(one, step + 1)));
    const absl::StatusOr<StepResult> expected = Train(*alone, Batch(one, step)), result = session->Finish();
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
    EXPECT_EQ(result->loss, expected->loss) << "step " << step;
    EXPECT_EQ(result->metrics, expected->metrics) << "step " << step;
  }
  ExpectTheSameStates(*session, *alone);
  const std::vector<GroupTraffic> counted = session->Traffic(), expected = alone->Traffic();
  for (size_t g = 0; g < expected.size(); ++g) EXPECT_EQ(counted[g].bytes, expected[g].bytes);
}

// Its inputs are no numbers while those of the step behind it, which has begun on a GPU, are good.
TEST_P(StepsInFlight, NoneIsAppliedBehindOneThatWasNot) {
  const Case& one = GetParam();
  const StepInputs broken = WithoutNumbers(Batch(one, 1));
  const auto alone = Start(one), session = Start(one);
  ASSERT_OK(Begin(*session, Batch(one, 0)));
  ASSERT_OK(Begin(*session, broken));
  ASSERT_OK(session->Finish().status());
  ASSERT_OK(Begin(*session, Batch(one, 2)));
  const absl::Status refused = session->Finish().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("step 2: "));
  EXPECT_EQ(session->Finish().status().code(), absl::StatusCode::kFailedPrecondition) << "nothing is in flight";

  ASSERT_OK(Train(*alone, Batch(one, 0)).status());
  ExpectTheSameStates(*session, *alone);
  StageTraining(*session, broken);
  const absl::Status found = session->Diagnose();
  EXPECT_EQ(found.code(), absl::StatusCode::kOutOfRange);
  const std::string message(found.message());
  EXPECT_THAT(message, testing::HasSubstr(std::string(refused.message())));
  EXPECT_EQ(message.find("first value") == std::string::npos, kFarGpu) << message;

  for (int step = 3; step < 5; ++step) {
    const absl::StatusOr<StepResult> expected = Train(*alone, Batch(one, step)),
                                     result = Train(*session, Batch(one, step));
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
    EXPECT_EQ(result->loss, expected->loss) << "the session goes on";
  }
  ExpectTheSameStates(*session, *alone);
}

INSTANTIATE_TEST_SUITE_P(Plans, StepsInFlight,
                         testing::Values(Case{"mlp", "1x1"}, Case{"mlp", "2x1"}, Case{"mlp", "3x1"}, Case{"mlp", "2x2"},
                                         Case{"lenet5", "mixed", true}, Case{"lenet5", "1f1b"},
                                         Case{"mini-inception", "placement", true}),
                         [](const auto& one) { return one.param.Name(); });

TEST(StepInFlight, ForbidsWhatWouldNeedItsEnd) {
  const Case one{"mlp", "2x1"};
  const auto session = Start(one);
  EXPECT_EQ(session->Finish().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK(Begin(*session, Batch(one, 0)));
  const std::string state = session->StateNames()[0];
  const auto none = []() -> absl::Status { return absl::OkStatus(); };
  for (const absl::Status& refused :
       {session->Train().status(), session->Evaluate().status(), session->Begin(kEvaluateEntry, none),
        session->FinishPrediction().status(), session->ReadState(state).status(), session->Diagnose(),
        session->JobTraffic().status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("a step of 'train' is in flight"));
  }
  ASSERT_OK(Begin(*session, Batch(one, 1)));
  EXPECT_EQ(session->Begin(kTrainEntry, none).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(session->Finish().ok());
  EXPECT_TRUE(session->Finish().ok());
  EXPECT_TRUE(session->ReadState(state).ok());
}

TEST(StepInFlight, EndsWhenTheNextInputsCannotBeHad) {
  const Case one{"mlp", "2x1"};
  const auto alone = Start(one), session = Start(one);
  ASSERT_OK(Begin(*session, Batch(one, 0)));
  const absl::Status failed = session->Begin(kTrainEntry, [] { return absl::DataLossError("no more rows"); });
  EXPECT_EQ(failed.message(), "no more rows");
  EXPECT_EQ(session->Finish().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK(Train(*alone, Batch(one, 0)).status());
  ExpectTheSameStates(*session, *alone);
  EXPECT_TRUE(Train(*session, Batch(one, 1)).ok()) << "the session goes on";
}

TEST(StepInFlight, IsEndedByAnAbort) {
  const Case one{"mini-inception", "2x2"};
  const auto session = Start(one);
  const StepInputs batch = Batch(one, 0);
  ASSERT_OK(Begin(*session, batch));
  ASSERT_OK(Begin(*session, batch));
  std::thread other([&] { session->Abort(absl::UnavailableError("the user is gone")); });
  absl::Status status;
  for (int step = 0; step < 1000 && status.ok(); ++step) {
    status = session->Finish().status();
    if (status.ok()) status = Begin(*session, batch);
  }
  other.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(session->Finish().status(), status) << "the session is dead";
  EXPECT_EQ(Begin(*session, batch), status);
}

TEST(StepInFlight, MayBeLeftBehind) {
  const Case one{"mlp", "2x2"};
  for (int steps = 1; steps <= 2; ++steps) {
    const auto session = Start(one);
    for (int step = 0; step < steps; ++step) EXPECT_TRUE(Begin(*session, Batch(one, step)).ok());
  }
}

}  // namespace
}  // namespace partita
