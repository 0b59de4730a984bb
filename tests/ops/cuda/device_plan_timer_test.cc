// How plans are timed, over a fake CUDA whose clock advances by a millisecond with each node of a replay.
#include "ops/cuda/device_plan_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/bf16.h"
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
  PlanToTime Plan(int kernels, int64_t bytes = 1000) {
    return {bytes, [this, kernels](char* memory, CudaQueue queue) -> absl::Status {
              for (int k = 0; k < kernels; ++k) {
                void* arguments[] = {&memory};
                if (queue->Launch(&function_, {1, 32, 1}, arguments) != LaunchError::kNone) {
                  return Unavailable("refused");
                }
              }
              return absl::OkStatus();
            }};
  }

  std::vector<absl::StatusOr<double>> Times(const std::vector<PlanToTime>& plans) {
    return MakePlanTimer(*device_)(plans);
  }
  absl::StatusOr<double> Time(int kernels) { return Times({Plan(kernels)})[0]; }

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
                                       "cudaStreamSynchronize",  // memory is random from here on
                                       "cudaLaunchKernel",       // once, to load the plan's code
                                       "cudaStreamSynchronize"};
  for (const auto& [repetitions, replays] : {std::pair<int, int>{1, 1}, {10, 5}}) {
    expected.insert(expected.end(), {"cudaStreamBeginCapture", "cudaEventRecordWithFlags", "cudaEventRecordWithFlags"});
    expected.insert(expected.end(), static_cast<size_t>(repetitions), "cudaLaunchKernel");
    expected.insert(expected.end(), {"cudaEventRecordWithFlags", "cudaStreamEndCapture", "cudaGraphInstantiate"});
    for (int replay = 0; replay < replays; ++replay) {
      expected.insert(expected.end(), {"cudaGraphLaunch", "cudaEventElapsedTime", "cudaEventElapsedTime"});
    }
  }
  expected.push_back("cudaStreamSynchronize");  // before the stream goes
  EXPECT_EQ(CallsOf({expected.begin(), expected.end()}), expected);
}

// It runs once; without room for it, not at all.
TEST_F(DevicePlanTimerTest, LoadsAPlan) {
  fake_.lazy = true;
  const PlanLoader load = MakePlanLoader(*device_);
  EXPECT_TRUE(load(Plan(3, fake_.memory + 1)).ok());
  EXPECT_TRUE(CallsOf({"cudaLaunchKernel"}).empty());
  EXPECT_TRUE(load(Plan(3)).ok());
  EXPECT_EQ(CallsOf({"cudaLaunchKernel"}).size(), 3u);
  EXPECT_EQ(fake_.live(), 0);
  EXPECT_TRUE(Time(3).ok());
}

// Of four plans, which take 2, 32, 5 and 7 units at first, two are within 3 times the least: each of them runs once to
// load its code, once for its first time, and 50 times more.
TEST_F(DevicePlanTimerTest, DropsAPlanThatIsHopelessAfterItsFirstTime) {
  std::vector<int> runs(4);
  fake_.Register(&function_, [](dim3, dim3, void** arguments) {
    int* const runs_of_plan = *static_cast<int**>(arguments[0]);
    return [runs_of_plan] { ++*runs_of_plan; };
  });
  std::vector<PlanToTime> plans;
  const int kernels[] = {1, 31, 4, 6};
  for (size_t i = 0; i < 4; ++i) {
    plans.push_back({1000, [plan = Plan(kernels[i]), count = &runs[i]](char*, CudaQueue queue) {
                       return plan.run(reinterpret_cast<char*>(count), queue);
                     }});
  }
  const auto times = Times(plans);
  for (size_t i = 0; i < 4; ++i) {
    const bool hopeless = i == 1 || i == 3;
    EXPECT_EQ(runs[i], kernels[i] * (hopeless ? 2 : 52)) << i;
    EXPECT_NEAR(*times[i], hopeless ? (kernels[i] + 1) * 1e-3 : (10 * kernels[i] + 1) * 1e-4, 1e-7) << i;
  }
}

// Numbers in each type, of both signs, all over the memory.
TEST_F(DevicePlanTimerTest, PlansReadRandomNumbers) {
  const int64_t bytes = (int64_t{5} << 20) + 6;  // more than the pattern, and no multiple of it
  std::vector<char> seen;
  fake_.Register(&function_, [&](dim3, dim3, void** arguments) {
    return [&seen, bytes, memory = *static_cast<char**>(arguments[0])] { seen.assign(memory, memory + bytes); };
  });
  ASSERT_TRUE(Times({Plan(1, bytes)})[0].ok());
  ASSERT_EQ(seen.size(), static_cast<size_t>(bytes));
  std::set<uint16_t> halves;
  int64_t negative = 0;
  for (size_t i = 0; i + 8 <= seen.size(); i += 8) {
    double f64;
    float f32[2];
    uint16_t bits[4];
    std::memcpy(&f64, &seen[i], 8);
    std::memcpy(f32, &seen[i], 8);
    std::memcpy(bits, &seen[i], 8);
    ASSERT_TRUE(std::isnormal(f64) && std::abs(f64) < 2) << i;
    for (const float value : f32) ASSERT_TRUE(std::isnormal(value) && std::abs(value) < 2) << i;
    for (const uint16_t half : bits) {
      const auto value = static_cast<float>(Bf16::FromBits(half));
      ASSERT_TRUE(std::isnormal(value) && std::abs(value) < 2) << i;
      halves.insert(half);
      negative += value < 0;
    }
  }
  EXPECT_EQ(halves.size(), 2048u);
  EXPECT_NEAR(static_cast<double>(negative) / static_cast<double>(bytes / 2), 0.5, 0.01);
  EXPECT_NE(seen[seen.size() - 1], 0);
}

// The largest that the GPU has room for decides about the memory; a larger one only loses itself.
TEST_F(DevicePlanTimerTest, APlanThatNeedsMoreMemoryThanThereIsLoses) {
  fake_.memory = 1 << 20;
  const auto times = Times({Plan(1, 2 << 20), Plan(2, 1000), Plan(1, 3000)});
  EXPECT_EQ(times[0].status(), Unavailable("the GPU has no 2097152 bytes for it"));
  EXPECT_TRUE(times[1].ok());
  EXPECT_TRUE(times[2].ok());
  for (const auto& time : Times({Plan(1, 2 << 20)})) EXPECT_TRUE(absl::IsResourceExhausted(time.status()));
}

TEST_F(DevicePlanTimerTest, RefusesWhatNoStepCouldRun) {
  EXPECT_EQ(Time(0).status(), Internal("a plan to be timed enqueues nothing"));
  int runs = 0;
  const auto once = [&](char*, CudaQueue) { return ++runs == 1 ? absl::OkStatus() : InvalidArgument("not captured"); };
  EXPECT_EQ(Times({{1000, once}})[0].status(), InvalidArgument("not captured"));
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
