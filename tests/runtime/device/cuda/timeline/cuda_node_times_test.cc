// Captured steps timed by CUPTI, on fakes of the CUDA runtime and of CUPTI.
#include "runtime/device/cuda/timeline/cuda_node_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/span_recorder.h"
#include "tests/runtime/device/cuda/timeline/fake_cupti.h"

namespace partita {
namespace {

// A step of two streams: tag 0 has one piece of work, tag 2 has two and comes after it; nothing has tag 1.
class TimedStep {
 public:
  static absl::StatusOr<std::unique_ptr<TimedStep>> Capture(CudaDevice& device) {
    std::unique_ptr<TimedStep> step(new TimedStep());
    ASSIGN_OR_RETURN(step->arena_, device.Allocate(64));
    ASSIGN_OR_RETURN(step->a_, device.CreateStream("a"));
    ASSIGN_OR_RETURN(step->b_, device.CreateStream("b"));
    ASSIGN_OR_RETURN(step->event_, device.CreateEvent());
    RETURN_IF_ERROR(device.BeginCapture(std::vector<Stream*>{step->a_.get(), step->b_.get()}));
    const absl::Status enqueued = step->Enqueue();
    absl::StatusOr<std::unique_ptr<CapturedStep>> captured = device.EndCapture();
    RETURN_IF_ERROR(enqueued);
    ASSIGN_OR_RETURN(step->step_, std::move(captured));
    return step;
  }

  absl::StatusOr<std::vector<Span>> Replay() {
    step_->SetRecording(&recorder_);
    RETURN_IF_ERROR(step_->Launch());
    RETURN_IF_ERROR(step_->Wait());
    return recorder_.Spans();
  }

 private:
  absl::Status Enqueue() {
    a_->Tag(0, "first");
    RETURN_IF_ERROR(a_->Zero(arena_->data(), 64));
    a_->Tag(-1);
    RETURN_IF_ERROR(a_->Zero(arena_->data(), 32));  // of no tag
    RETURN_IF_ERROR(a_->Record(*event_));
    b_->Tag(2, "last");
    RETURN_IF_ERROR(b_->Wait(*event_));
    RETURN_IF_ERROR(b_->Zero(arena_->data(), 64));
    return b_->Zero(arena_->data(), 64);
  }

  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Stream> a_, b_;
  std::unique_ptr<Event> event_;
  SpanRecorder recorder_;
  std::unique_ptr<CapturedStep> step_;
};

class CudaNodeTimesTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<CudaDevice>> Open() {
    ASSIGN_OR_RETURN(std::unique_ptr<CudaNodeTimes> times, CudaNodeTimes::Start(cupti_.api()));
    CudaDeviceOptions options{0, true, &cuda_.api()};
    options.node_times = std::move(times);
    return CudaDevice::Create(std::move(options));
  }

  FakeCuda cuda_;
  FakeCupti cupti_{cuda_};
};

constexpr double kMicrosecond = 1e-6;

TEST_F(CudaNodeTimesTest, EveryTagHasItsTimesAndTheGraphNoOtherNode) {
  const std::unique_ptr<CudaDevice> device = *Open();
  const std::unique_ptr<TimedStep> step = *TimedStep::Capture(*device);
  EXPECT_EQ(std::ranges::count(cuda_.calls, "cudaEventRecordWithFlags"), 0);
  for (int replay = 0; replay < 3; ++replay) {
    const absl::StatusOr<std::vector<Span>> spans = step->Replay();
    ASSERT_TRUE(spans.ok()) << spans.status();
    ASSERT_EQ(spans->size(), 3u);
    EXPECT_NEAR((*spans)[0].begin, 0, 1e-9);
    EXPECT_NEAR((*spans)[0].end, kMicrosecond, 1e-9);
    EXPECT_EQ((*spans)[1].end, 0);
    EXPECT_NEAR((*spans)[2].begin, 2 * kMicrosecond, 1e-9) << "the work of no tag lies between";
    EXPECT_NEAR((*spans)[2].end, 4 * kMicrosecond, 1e-9);
  }
}

TEST_F(CudaNodeTimesTest, StepsDoNotGetEachOthersTimes) {
  const std::unique_ptr<CudaDevice> device = *Open();
  const std::unique_ptr<TimedStep> one = *TimedStep::Capture(*device);
  std::unique_ptr<TimedStep> other = *TimedStep::Capture(*device);
  for (int replay = 0; replay < 2; ++replay) {
    for (TimedStep* step : {one.get(), other.get()}) {
      const absl::StatusOr<std::vector<Span>> spans = step->Replay();
      ASSERT_TRUE(spans.ok()) << spans.status();
      EXPECT_NEAR((*spans)[0].begin, 0, 1e-9);
      EXPECT_NEAR((*spans)[2].end, 4 * kMicrosecond, 1e-9);
    }
  }
  other = nullptr;
  EXPECT_TRUE(one->Replay().ok());
}

TEST_F(CudaNodeTimesTest, ThereIsOneInAProcess) {
  const std::unique_ptr<CudaNodeTimes> one = *CudaNodeTimes::Start(cupti_.api());
  EXPECT_EQ(CudaNodeTimes::Start(cupti_.api()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(cupti_.subscribed()) << "the first one goes on";
}

TEST_F(CudaNodeTimesTest, AnotherProfilerIsSaidToBeThere) {
  cupti_.FailAt(1, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  const absl::Status status = CudaNodeTimes::Start(cupti_.api()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "cuptiSubscribe: a fake error");
  EXPECT_TRUE(CudaNodeTimes::Start(cupti_.api()).ok()) << "it may be tried again";
}

TEST_F(CudaNodeTimesTest, EveryCallMayFail) {
  const auto use_everything = [this]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<CudaDevice> device, Open());
    ASSIGN_OR_RETURN(const std::unique_ptr<TimedStep> step, TimedStep::Capture(*device));
    for (int replay = 0; replay < 2; ++replay) RETURN_IF_ERROR(step->Replay().status());
    return absl::OkStatus();
  };
  int64_t failures = 0;
  for (int64_t call = 1;; ++call) {
    cupti_.FailAt(call, CUPTI_ERROR_UNKNOWN);
    const absl::Status status = use_everything();
    EXPECT_EQ(cuda_.live(), 0) << "call " << call;
    EXPECT_TRUE(cupti_.enabled.empty()) << "call " << call;
    EXPECT_FALSE(cupti_.subscribed()) << "call " << call;
    if (!cupti_.failed()) break;
    if (!status.ok()) ++failures;
  }
  // All but the last one, which flushes when all is over.
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace partita
