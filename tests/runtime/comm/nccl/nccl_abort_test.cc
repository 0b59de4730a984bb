// Aborts while captured steps hold the communicators. NCCL's abort ends when no graph holds its communicator any more,
// and a graph may run until the last of its communicators is aborted: whoever waits in a wrong order waits for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/count_up_kernel.h"
#include "runtime/comm/nccl/nccl_world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tests/runtime/comm/nccl/fake_nccl.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

using Steps = std::vector<std::unique_ptr<CapturedStep>>;

// Rank 0 of two, in so many groups of both.
class NcclAbortTest : public testing::TestWithParam<int> {
 protected:
  NcclAbortTest() {
    nccl_.patience = std::chrono::seconds(2);
    cuda_.Register(CountUpKernel(), CountUp);
  }

  // Nothing hung, in whichever order the test let go.
  ~NcclAbortTest() override {
    Drop();
    EXPECT_FALSE(nccl_.stuck);
    EXPECT_EQ(nccl_.live, 0);
  }

  // All that is under way has ended then.
  void Drop() {
    communicators_.clear();
    world_ = nullptr;
    stream_ = nullptr;
    device_ = nullptr;
  }

  absl::Status Start() {
    ASSIGN_OR_RETURN(device_, CudaDevice::Create({0, false, &cuda_.api()}));
    ASSIGN_OR_RETURN(stream_, device_->CreateStream("comm", StreamPriority::kHigh));
    NcclWorldOptions options;
    options.api = &nccl_.api();
    options.device = device_.get();
    options.ranks = 2;
    options.groups.assign(GetParam(), {0, 1});
    options.host = "here";
    options.poll_every = poll_every_;
    options.exchange = [](const std::string& own) -> absl::StatusOr<std::vector<std::string>> {
      return std::vector{own, std::string("there\0000000:01:00\0", 17)};
    };
    ASSIGN_OR_RETURN(world_, NcclWorld::Create(std::move(options)));
    for (int group = 0; group < GetParam(); ++group) {
      ASSIGN_OR_RETURN(std::unique_ptr<Communicator> made, world_->CreateCommunicator(group, {0, 1}, 0));
      communicators_.push_back(std::move(made));
    }
    return absl::OkStatus();
  }

  // A collective of each group, one after the other.
  absl::StatusOr<std::unique_ptr<CapturedStep>> Capture() {
    RETURN_IF_ERROR(device_->BeginCapture(std::vector<Stream*>{stream_.get()}));
    absl::Status status;
    for (const auto& communicator : communicators_) {
      if (status.ok()) status = communicator->AllReduce(x_, x_, Reduction::kSum, *stream_);
    }
    absl::StatusOr<std::unique_ptr<CapturedStep>> step = device_->EndCapture();
    RETURN_IF_ERROR(status);
    return step;
  }

  static absl::Status Replay(CapturedStep& step) {
    RETURN_IF_ERROR(step.Launch());
    return step.Wait();
  }

  // Of training and of evaluation, say: both hold all communicators.
  absl::StatusOr<Steps> StartAndReplayTwoSteps() {
    RETURN_IF_ERROR(Start());
    Steps steps;
    for (int s = 0; s < 2; ++s) {
      ASSIGN_OR_RETURN(std::unique_ptr<CapturedStep> step, Capture());
      steps.push_back(std::move(step));
      RETURN_IF_ERROR(Replay(*steps.back()));
    }
    return steps;
  }

  void WaitUntilACollectiveWaits() {
    while (nccl_.waiting == 0 && !nccl_.stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  FakeCuda cuda_;
  FakeNccl nccl_;
  float data_[4] = {};
  const Buffer x_{data_, 4, DType::kF32};
  const absl::Status gone_ = absl::UnavailableError("rank 1 has left");
  std::chrono::milliseconds poll_every_{0};
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<NcclWorld> world_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

// As a session does when it cannot start a step: the thread that owns the steps asks for the abort, then destroys them.
TEST_P(NcclAbortTest, TheOwnerOfTheStepsAborts) {
  absl::StatusOr<Steps> steps = StartAndReplayTwoSteps();
  ASSERT_TRUE(steps.ok()) << steps.status();
  world_->Abort(gone_);
  EXPECT_EQ(Replay(*(*steps)[0]), gone_);
}

// A thread that is joined before the steps are destroyed: it must not wait for that.
TEST_P(NcclAbortTest, AnotherThreadAbortsWhileTheOwnerIsInAStep) {
  absl::StatusOr<Steps> steps = StartAndReplayTwoSteps();
  ASSERT_TRUE(steps.ok()) << steps.status();
  nccl_.peers_are_gone = true;
  std::thread job([this] {
    WaitUntilACollectiveWaits();
    world_->Abort(gone_);
  });
  EXPECT_EQ(Replay(*(*steps)[0]), gone_);
  job.join();
  EXPECT_EQ(Replay(*(*steps)[1]), gone_);
}

TEST_P(NcclAbortTest, TheWatchdogAbortsWhileTheOwnerIsInAStep) {
  poll_every_ = std::chrono::milliseconds(1);
  absl::StatusOr<Steps> steps = StartAndReplayTwoSteps();
  ASSERT_TRUE(steps.ok()) << steps.status();
  nccl_.peers_are_gone = true;
  std::thread network([this] {
    WaitUntilACollectiveWaits();
    nccl_.background = ncclRemoteError;
  });
  const absl::Status status = Replay(*(*steps)[0]);
  network.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("in the background: remote error"), std::string::npos) << status;
}

// Nothing that fails before an abort, or in it, keeps it from ending.
TEST_P(NcclAbortTest, EveryCallMayFailBefore) {
  for (int64_t call = 1;; ++call) {
    nccl_.FailAt(call);
    {
      const absl::StatusOr<Steps> steps = StartAndReplayTwoSteps();
      if (world_ != nullptr) world_->Abort(steps.ok() ? gone_ : steps.status());
    }
    Drop();
    ASSERT_FALSE(nccl_.stuck) << "call " << call;
    ASSERT_EQ(nccl_.live, 0) << "call " << call;
    if (!nccl_.failed) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, NcclAbortTest, testing::Values(1, 2, 3));

}  // namespace
}  // namespace partita
