// What a driver refuses, each mistake once, of the fake CUDA that has a thread of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

class FakeCudaRefusals : public testing::Test {
 protected:
  FakeCudaRefusals() {
    fake_.devices = 2;
    fake_.Register(&kernel_, [](dim3, dim3, void**) { return [] {}; });
    fake_.Register(&held_, [this](dim3, dim3, void**) {
      return [this] {
        while (!released_) std::this_thread::yield();
      };
    });
    fake_.Register(&faulty_,
                   [](dim3, dim3, void**) { return [] { FakeCuda::Fault(cudaErrorIllegalAddress, "planted"); }; });
    fake_.StartThread();
    EXPECT_EQ(cuda_.cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(cuda_.cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, 0), cudaSuccess);
    EXPECT_EQ(cuda_.cudaMalloc(&memory_, kBytes), cudaSuccess);
    EXPECT_EQ(cuda_.cudaHostAlloc(&pinned_, kBytes, 0), cudaSuccess);
  }
  ~FakeCudaRefusals() override {
    released_ = true;
    cuda_.cudaFree(memory_);
    cuda_.cudaFreeHost(pinned_);
    cuda_.cudaStreamDestroy(stream_);
  }

  cudaError_t Launch(const void* function, dim3 grid = {1}, dim3 block = {32}, size_t shared = 0) {
    return cuda_.cudaLaunchKernel(function, grid, block, nullptr, shared, stream_);
  }
  cudaError_t Copy(void* to, const void* from) {
    return cuda_.cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDefault, stream_);
  }
  void BeginCapture() {
    ASSERT_EQ(cuda_.cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
    ASSERT_EQ(Launch(&kernel_), cudaSuccess);
  }
  // A capture in which `mistake` is made ends with nothing, and the next one is none the worse.
  template <typename Mistake>
  void ExpectSpoiled(cudaError_t error, const Mistake& mistake) {
    BeginCapture();
    EXPECT_EQ(mistake(), error);
    EXPECT_EQ(Launch(&kernel_), cudaErrorStreamCaptureInvalidated);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cuda_.cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    BeginCapture();
    EXPECT_EQ(cuda_.cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cuda_.cudaGraphDestroy(graph), cudaSuccess);
  }

  static constexpr size_t kBytes = 64;
  FakeCuda fake_;
  const CudaApi& cuda_ = fake_.api();
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
  void* pinned_ = nullptr;
  char pageable_[kBytes] = {};
  std::atomic<bool> released_ = false;
  const char kernel_ = 0, held_ = 0, faulty_ = 0;  // addresses of functions
};

TEST_F(FakeCudaRefusals, CapturesCopyKnownMemoryAlone) {
  ExpectSpoiled(cudaErrorStreamCaptureUnsupported, [&] { return Copy(memory_, pageable_); });
  ExpectSpoiled(cudaErrorStreamCaptureUnsupported, [&] { return Copy(pageable_, memory_); });
  void* freed = nullptr;
  ASSERT_EQ(cuda_.cudaMalloc(&freed, kBytes), cudaSuccess);
  ASSERT_EQ(cuda_.cudaFree(freed), cudaSuccess);
  ExpectSpoiled(cudaErrorStreamCaptureUnsupported, [&] { return Copy(memory_, freed); });
  ExpectSpoiled(cudaErrorStreamCaptureUnsupported, [&] { return Copy(static_cast<char*>(memory_) + 1, pinned_); });
  EXPECT_EQ(cuda_.cudaMemsetAsync(pageable_, 0, kBytes, stream_), cudaErrorInvalidValue);
}

TEST_F(FakeCudaRefusals, CapturesLoadNoCode) {
  fake_.lazy = true;
  ASSERT_EQ(Launch(&kernel_), cudaSuccess);
  ExpectSpoiled(cudaErrorStreamCaptureUnsupported, [&] { return Launch(&faulty_); });
  cudaFuncAttributes attributes = {};
  ASSERT_EQ(cuda_.cudaFuncGetAttributes(&attributes, &held_), cudaSuccess);
  BeginCapture();
  EXPECT_EQ(Launch(&held_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cuda_.cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cuda_.cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(FakeCudaRefusals, CapturesWaitForNothingAndDoNotNest) {
  ExpectSpoiled(cudaErrorStreamCaptureUnsupported, [&] { return cuda_.cudaStreamSynchronize(stream_); });
  ExpectSpoiled(cudaErrorIllegalState,
                [&] { return cuda_.cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed); });
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cuda_.cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);
}

TEST_F(FakeCudaRefusals, PageableMemoryIsReadDuringTheCallAndWrittenBeforeItsEnd) {
  ASSERT_EQ(Launch(&held_), cudaSuccess);
  pageable_[0] = 7;
  ASSERT_EQ(Copy(memory_, pageable_), cudaSuccess);
  pageable_[0] = 8;
  released_ = true;
  char found[kBytes] = {};
  ASSERT_EQ(Copy(found, memory_), cudaSuccess);
  EXPECT_EQ(found[0], 7);
}

TEST_F(FakeCudaRefusals, LaunchesHaveLimits) {
  EXPECT_EQ(Launch(&pageable_), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(Launch(&kernel_, {0}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(&kernel_, {1u << 31}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(&kernel_, {1, 1 << 16}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(&kernel_, {1}, {32, 33}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(&kernel_, {1}, {32}, (48 << 10) + 1), cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(&kernel_, {(1u << 31) - 1}, {1024}, 48 << 10), cudaSuccess);
}

TEST_F(FakeCudaRefusals, TheGpuIsTheThreads) {
  ASSERT_EQ(cuda_.cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(Launch(&kernel_), cudaErrorInvalidResourceHandle);
  std::thread([&] { EXPECT_EQ(Launch(&kernel_), cudaSuccess); }).join();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cuda_.cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cuda_.cudaEventRecord(event, stream_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cuda_.cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cuda_.cudaSetDevice(2), cudaErrorInvalidDevice);
}

TEST_F(FakeCudaRefusals, EventsHaveTimesWhereTheyWereMadeForThem) {
  cudaEvent_t timed = nullptr, later = nullptr, untimed = nullptr;
  ASSERT_EQ(cuda_.cudaEventCreateWithFlags(&timed, 0), cudaSuccess);
  ASSERT_EQ(cuda_.cudaEventCreateWithFlags(&later, 0), cudaSuccess);
  ASSERT_EQ(cuda_.cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  const auto elapsed = [&](cudaEvent_t begin, cudaEvent_t end) {
    float milliseconds = 0;
    return cuda_.cudaEventElapsedTime(&milliseconds, begin, end);
  };
  EXPECT_EQ(elapsed(timed, timed), cudaErrorInvalidResourceHandle) << "it was never recorded";
  ASSERT_EQ(cuda_.cudaEventRecord(timed, stream_), cudaSuccess);
  ASSERT_EQ(cuda_.cudaEventRecord(untimed, stream_), cudaSuccess);
  ASSERT_EQ(cuda_.cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(elapsed(timed, timed), cudaSuccess);
  EXPECT_EQ(elapsed(timed, untimed), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(Launch(&held_), cudaSuccess);
  ASSERT_EQ(cuda_.cudaEventRecord(later, stream_), cudaSuccess);
  EXPECT_EQ(elapsed(timed, later), cudaErrorNotReady);
  released_ = true;
  BeginCapture();
  ASSERT_EQ(cuda_.cudaEventRecord(later, stream_), cudaSuccess);
  EXPECT_EQ(cuda_.cudaEventQuery(later), cudaErrorCapturedEvent);
  EXPECT_EQ(cuda_.cudaEventSynchronize(later), cudaErrorCapturedEvent);
  EXPECT_EQ(elapsed(timed, later), cudaErrorCapturedEvent);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cuda_.cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cuda_.cudaGraphDestroy(graph), cudaSuccess);
  for (const cudaEvent_t event : {timed, later, untimed}) EXPECT_EQ(cuda_.cudaEventDestroy(event), cudaSuccess);
}

TEST_F(FakeCudaRefusals, HostFunctionsCallNothing) {
  struct Asked {
    const CudaApi& cuda;
    cudaError_t error;
  } asked{cuda_, cudaSuccess};
  const auto ask = [](void* argument) {
    auto& told = *static_cast<Asked*>(argument);
    told.error = told.cuda.cudaSetDevice(0);
  };
  ASSERT_EQ(cuda_.cudaLaunchHostFunc(stream_, ask, &asked), cudaSuccess);
  ASSERT_EQ(cuda_.cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(asked.error, cudaErrorNotPermitted);
}

TEST_F(FakeCudaRefusals, AnErrorIsKeptUntilItIsAskedFor) {
  EXPECT_EQ(cuda_.cudaSetDevice(7), cudaErrorInvalidDevice);
  EXPECT_EQ(cuda_.cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cuda_.cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cuda_.cudaGetLastError(), cudaSuccess);
}

TEST_F(FakeCudaRefusals, AFaultOfAKernelShowsLaterAndStays) {
  ASSERT_EQ(Launch(&faulty_), cudaSuccess);
  EXPECT_EQ(cuda_.cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(Launch(&kernel_), cudaErrorIllegalAddress);
  EXPECT_EQ(cuda_.cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
}

TEST_F(FakeCudaRefusals, AGraphThatRunsIsNotDestroyed) {
  BeginCapture();
  ASSERT_EQ(Launch(&held_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cuda_.cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cuda_.cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cuda_.cudaGraphLaunch(executable, stream_), cudaSuccess);
  std::thread destroy([&] { cuda_.cudaGraphExecDestroy(executable); });
  while (cuda_.cudaSetDevice(0) != cudaErrorIllegalAddress) std::this_thread::yield();
  released_ = true;
  destroy.join();
  EXPECT_EQ(cuda_.cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  cuda_.cudaGraphDestroy(graph);
}

// Freed memory is poison, and is not taken back under work that uses it.
TEST_F(FakeCudaRefusals, FreeingWaits) {
  static_cast<char*>(pinned_)[0] = 5;
  void* other = nullptr;
  ASSERT_EQ(cuda_.cudaMalloc(&other, kBytes), cudaSuccess);
  ASSERT_EQ(Launch(&held_), cudaSuccess);
  ASSERT_EQ(Copy(other, pinned_), cudaSuccess);
  ASSERT_EQ(Copy(memory_, other), cudaSuccess);
  std::thread release([&] { released_ = true; });
  EXPECT_EQ(cuda_.cudaFree(other), cudaSuccess);
  release.join();
  EXPECT_EQ(static_cast<const char*>(memory_)[0], 5);
  EXPECT_EQ(cuda_.cudaFree(other), cudaErrorInvalidValue);
  EXPECT_EQ(cuda_.cudaFree(pinned_), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace partita
