// How plans are timed, over a fake CUDA whose clock goes on by a millisecond with each node of a replay.
#include "ops/cuda/device_plan_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

class DevicePlanTimerTest : public testing::Test {
 protected:
  DevicePlanTimerTest() {
    fake_.Register(&function_, [](dim3, dim3, void**) { return [] {}; });
    device_ = *CudaDevice::Create({0, false, &fake_.api()});
    fake_.calls.clear();
  }

  // A plan of so many kernels.
  absl::StatusOr<double> Time(int kernels) {
    return MakePlanTimer(*device_)(1000, [&](char* memory, CudaQueue queue) -> absl::Status {
      for (int k = 0; k < kernels; ++k) {
        void* arguments[] = {&memory};
        if (queue->Launch(&function_, {1, 32, 1}, arguments) != LaunchError::kNone) return Unavailable("refused");
      }
      return absl::OkStatus();
    });
  }

  std::vector<std::string> CallsOf(const std::set<std::string>& names) const {
    std::vector<std::string> calls;
    std::ranges::copy_if(fake_.calls, std::back_inserter(calls),
                         [&](const auto& call) { return names.contains(call); });
    return calls;
  }

  FakeCuda fake_;
  const char function_ = 0;
  std::unique_ptr<CudaDevice> device_;
};

// Not what the host needs to enqueue them. The event before the repetitions is one more node.
TEST_F(DevicePlanTimerTest, TellsWhatTheDeviceNeedsForOneRepetition) {
  EXPECT_NEAR(*Time(1), (10 * 1 + 1) * 1e-4, 1e-7);
  EXPECT_NEAR(*Time(3), (10 * 3 + 1) * 1e-4, 1e-7);
  EXPECT_EQ(fake_.live(), 0);
}

TEST_F(DevicePlanTimerTest, RepetitionsAreCapturedBetweenEventsAndReplayed) {
  ASSERT_TRUE(Time(1).ok());
  std::vector<std::string> expected = {"cudaStreamSynchronize",  // memory is zero from here on
                                       "cudaLaunchKernel",       // once, to load the plan's code
                                       "cudaStreamSynchronize",    "cudaStreamBeginCapture",
                                       "cudaEventRecordWithFlags", "cudaEventRecordWithFlags"};
  expected.insert(expected.end(), 10, "cudaLaunchKernel");
  expected.insert(expected.end(), {"cudaEventRecordWithFlags", "cudaStreamEndCapture", "cudaGraphInstantiate"});
  for (int replay = 0; replay < 5; ++replay) {
    expected.insert(expected.end(), {"cudaGraphLaunch", "cudaEventElapsedTime", "cudaEventElapsedTime"});
  }
  expected.push_back("cudaStreamSynchronize");  // before the stream goes
  EXPECT_EQ(CallsOf({expected.begin(), expected.end()}), expected);
}

TEST_F(DevicePlanTimerTest, RefusesWhatNoStepCouldRun) {
  EXPECT_EQ(Time(0).status(), Internal("a plan to be timed enqueues nothing"));
  int runs = 0;
  const auto once = [&](char*, CudaQueue) { return ++runs == 1 ? absl::OkStatus() : InvalidArgument("not captured"); };
  EXPECT_EQ(MakePlanTimer(*device_)(1000, once).status(), InvalidArgument("not captured"));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(fake_.live(), 0);
}

TEST_F(DevicePlanTimerTest, EveryCallMayFail) {
  int failures = 0;
  for (int64_t call = 1;; ++call) {
    fake_.FailAt(call, cudaErrorInvalidValue);
    failures += !Time(1).ok();
    EXPECT_EQ(fake_.live(), 0) << "call " << call;
    if (!fake_.failed()) break;
  }
  EXPECT_GT(failures, 40);
}

}  // namespace
}  // namespace partita
