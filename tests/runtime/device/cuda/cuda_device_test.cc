// The GPU backend over a fake runtime: order of captured work, errors, and every call failing once.
#include "runtime/device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"
#include "runtime/device/span_recorder.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

class CudaDeviceTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<CudaDevice>> Create(bool timeline = false) {
    return CudaDevice::Create({0, timeline, &fake_.api()});
  }

  void ExpectRefused(absl::StatusCode code, const std::string& what) {
    const absl::Status status = Create().status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_NE(std::string(status.message()).find(what), std::string::npos) << status;
  }

  FakeCuda fake_;
};

TEST_F(CudaDeviceTest, SaysWhatIsMissing) {
  fake_.driver = 0;
  ExpectRefused(absl::StatusCode::kUnavailable, "no NVIDIA driver on this machine; this program needs one for CUDA 13");
  fake_.driver = 12080;
  ExpectRefused(absl::StatusCode::kUnavailable, "the NVIDIA driver is for CUDA 12.8; this program needs one for CUDA");
  fake_.driver = 13010;
  fake_.devices = 0;
  ExpectRefused(absl::StatusCode::kUnavailable, "no GPU");
  fake_.devices = 1;
  fake_.has_code = false;
  ExpectRefused(absl::StatusCode::kUnavailable,
                "Fake GPU of compute capability 9.0, for which this program has no code");
  fake_.has_code = true;
  const absl::Status index = CudaDevice::Create({3, false, &fake_.api()}).status();
  EXPECT_EQ(index.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(index.message(), "there is no device cuda:3; this machine has cuda:0 only");
}

TEST_F(CudaDeviceTest, AModelIsKnownWithoutOpeningIt) {
  fake_.has_code = false;
  EXPECT_EQ(*CudaDeviceModel(0, fake_.api()), "Fake GPU");
  EXPECT_EQ(CudaDeviceModel(1, fake_.api()).status().code(), absl::StatusCode::kInvalidArgument);
  fake_.devices = 0;
  EXPECT_EQ(CudaDeviceModel(0, fake_.api()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CudaDeviceTest, MemoryIsZeroAndRefusedBeforeItIsTaken) {
  const std::unique_ptr<CudaDevice> device = *Create();
  {
    const std::unique_ptr<Arena> arena = *device->Allocate(1000);
    EXPECT_EQ(std::count(static_cast<char*>(arena->data()), static_cast<char*>(arena->data()) + 1000, 0), 1000);
    EXPECT_EQ(device->Memory()->free, fake_.memory - 1000);
  }
  const absl::Status status = device->Allocate(fake_.memory + 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "device 'cuda:0': no memory for 1073741825 bytes; of its 1073741824 bytes 1073741824 are free");
  EXPECT_EQ(fake_.live(), 0);
}

TEST_F(CudaDeviceTest, ErrorsSayWhatWasCalledAndStickyOnesEndTheDevice) {
  const std::unique_ptr<CudaDevice> device = *Create();
  const std::unique_ptr<Stream> stream = *device->CreateStream("compute");
  char bytes[2] = {};
  fake_.FailAt(2, cudaErrorInvalidValue);  // behind cudaSetDevice
  const absl::Status bug = stream->Copy(bytes, bytes + 1, 1);
  EXPECT_EQ(bug.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(bug.message(), "device 'cuda:0': stream 'compute': cudaMemcpyAsync: fake (cudaErrorOfTheFake)");
  EXPECT_TRUE(stream->Zero(bytes, 1).ok());
  fake_.FailAt(2, cudaErrorIllegalAddress);
  const absl::Status gone = stream->Synchronize();
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(gone.message()).find("cannot be used any more by this process"), std::string::npos);
  EXPECT_EQ(stream->Zero(bytes, 1), gone);
  EXPECT_EQ(device->Allocate(1).status(), gone);
}

// x on stream a, y on stream b; each step y += x, then x += y, ordered by events alone: any order of nodes that the
// graph allows must give the same numbers.
class Adder {
 public:
  explicit Adder(FakeCuda& fake) {
    fake.Register(&function_, [](dim3, dim3, void** arguments) {
      int64_t* const to = *static_cast<int64_t**>(arguments[0]);
      const int64_t* const from = *static_cast<int64_t**>(arguments[1]);
      return [=] { *to = (*to + *from) % 1000003; };
    });
  }

  absl::Status Add(Stream& stream, int64_t* to, const int64_t* from) {
    void* arguments[] = {&to, &from};
    return static_cast<CudaStream&>(stream).Launch(&function_, {1}, {32}, arguments);
  }

 private:
  char function_ = 0;
};

TEST_F(CudaDeviceTest, EventsOrderEveryReplay) {
  Adder adder(fake_);
  const std::unique_ptr<CudaDevice> device = *Create();
  const auto a = *device->CreateStream("a"), b = *device->CreateStream("b", StreamPriority::kHigh);
  const auto event = *device->CreateEvent();
  const auto arena = *device->Allocate(16);
  auto* const x = static_cast<int64_t*>(arena->data());
  int64_t* const y = x + 1;
  *x = 1;
  ASSERT_TRUE(device->BeginCapture(std::vector<Stream*>{a.get(), b.get()}).ok());
  ASSERT_TRUE(a->Record(*event).ok());
  ASSERT_TRUE(b->Wait(*event).ok());
  ASSERT_TRUE(adder.Add(*b, y, x).ok());
  ASSERT_TRUE(b->Record(*event).ok());
  ASSERT_TRUE(a->Wait(*event).ok());
  ASSERT_TRUE(adder.Add(*a, x, y).ok());
  const auto step = *device->EndCapture();
  EXPECT_EQ(*y, 0);  // nothing ran
  int64_t expected_x = 1, expected_y = 0;
  for (int replay = 0; replay < 200; ++replay) {
    ASSERT_TRUE(step->Launch().ok());
    EXPECT_EQ(step->Launch().code(), absl::StatusCode::kFailedPrecondition);
    ASSERT_TRUE(step->Wait().ok());
    expected_y = (expected_y + expected_x) % 1000003;
    expected_x = (expected_x + expected_y) % 1000003;
    ASSERT_EQ(*x, expected_x);
    ASSERT_EQ(*y, expected_y);
  }
}

// Else what others wait for, captured on a stream that goes first, would queue behind all other work of the step.
// Events come before it, waits and work behind it; the end of the capture as well.
TEST_F(CudaDeviceTest, NothingWaitsForWhatIsLaunchedLater) {
  const char later = 0;
  fake_.Register(&later, [](dim3, dim3, void**) { return [] {}; });
  const std::unique_ptr<CudaDevice> device = *CudaDevice::Create({0, false, &fake_.api()});
  const std::unique_ptr<Stream> stream = *device->CreateStream("a", StreamPriority::kNormal);
  const std::unique_ptr<Event> event = *device->CreateEvent();
  auto& cuda_stream = static_cast<CudaStream&>(*stream);
  const std::vector<std::string> launch = {"cudaLaunchKernel"}, recorded = {"cudaEventRecord"};
  auto calls = [&, seen = fake_.calls.size()]() mutable {
    std::vector<std::string> since(fake_.calls.begin() + static_cast<int64_t>(seen), fake_.calls.end());
    seen = fake_.calls.size();
    std::erase(since, "cudaSetDevice");
    return since;
  };
  calls();
  ASSERT_TRUE(cuda_stream.LaunchLater(&later, {}).ok());
  EXPECT_EQ(calls(), launch) << "outside of captures at once";
  ASSERT_TRUE(device->BeginCapture(std::vector<Stream*>{stream.get()}).ok());
  calls();
  ASSERT_TRUE(cuda_stream.LaunchLater(&later, {&fake_}).ok());
  ASSERT_TRUE(stream->Record(*event).ok());
  EXPECT_EQ(calls(), recorded);
  ASSERT_TRUE(stream->Wait(*event).ok());
  EXPECT_EQ(calls(), (std::vector<std::string>{"cudaLaunchKernel", "cudaStreamWaitEvent"}));
  ASSERT_TRUE(cuda_stream.LaunchLater(&later, {&fake_}).ok());
  EXPECT_TRUE(cuda_stream.TakeLater(&fake_).empty());
  EXPECT_EQ(cuda_stream.TakeLater(&later), std::vector<void*>{&fake_});
  EXPECT_TRUE(cuda_stream.TakeLater(&later).empty());
  ASSERT_TRUE(cuda_stream.LaunchLater(&later, {&fake_}).ok());
  EXPECT_EQ(calls(), std::vector<std::string>());
  ASSERT_TRUE(device->EndCapture().ok());
  EXPECT_EQ(calls().front(), "cudaLaunchKernel");
}

TEST_F(CudaDeviceTest, WorkKeepsThePriorityOfItsStreamInAReplay) {
  const std::unique_ptr<CudaDevice> device = *Create();
  const auto normal = *device->CreateStream("normal"),
             raised = *device->CreateStream("raised", StreamPriority::kRaised),
             high = *device->CreateStream("high", StreamPriority::kHigh);
  const auto arena = *device->Allocate(64);
  ASSERT_TRUE(device->BeginCapture(std::vector<Stream*>{normal.get(), raised.get(), high.get()}).ok());
  for (Stream* const stream : {normal.get(), raised.get(), high.get()}) {
    ASSERT_TRUE(stream->Zero(arena->data(), 64).ok());
  }
  const auto step = *device->EndCapture();
  ASSERT_TRUE(step->Launch().ok() && step->Wait().ok());
  EXPECT_EQ(fake_.priorities, (std::vector<int>{0, -2, -5}));
}

TEST_F(CudaDeviceTest, AStepIsOneLaunch) {
  const std::unique_ptr<CudaDevice> device = *Create();
  const auto a = *device->CreateStream("a"), b = *device->CreateStream("b");
  const auto arena = *device->Allocate(64);
  ASSERT_TRUE(device->BeginCapture(std::vector<Stream*>{a.get(), b.get()}).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE((i % 2 == 0 ? a : b)->Zero(arena->data(), 64).ok());
  const auto step = *device->EndCapture();
  ASSERT_TRUE(step->Launch().ok() && step->Wait().ok());
  fake_.calls.clear();
  ASSERT_TRUE(step->Launch().ok() && step->Wait().ok());
  std::erase(fake_.calls, "cudaSetDevice");
  EXPECT_EQ(fake_.calls, (std::vector<std::string>{"cudaGraphLaunch", "cudaEventRecord", "cudaEventSynchronize"}));
}

// Training and evaluation of two ranks, whose inputs come on streams of their own: what was launched on the origin
// orders the next launch on it by itself.
TEST_F(CudaDeviceTest, StepsOfOneOriginNeedNoWaitsForEachOther) {
  const std::unique_ptr<CudaDevice> device = *Create();
  const auto a = *device->CreateStream("a"), b = *device->CreateStream("b"), c = *device->CreateStream("c");
  const auto input = *device->CreateStream("input");
  const auto sent = *device->CreateEvent();
  const auto capture = [&](std::vector<Stream*> streams) {
    EXPECT_TRUE(device->BeginCapture(streams).ok());
    return *device->EndCapture();
  };
  const auto train = capture({a.get(), b.get(), c.get()}), evaluate = capture({a.get(), b.get(), c.get()});
  const auto elsewhere = capture({b.get(), c.get()});
  const auto calls_of = [&](CapturedStep& step) {
    fake_.calls.clear();
    EXPECT_TRUE(step.Launch().ok() && step.Wait().ok());
    std::erase(fake_.calls, "cudaSetDevice");
    return fake_.calls;
  };
  const std::vector<std::string> alone = {"cudaGraphLaunch", "cudaEventRecord", "cudaEventSynchronize"};
  for (CapturedStep* step : {train.get(), evaluate.get(), train.get()}) EXPECT_EQ(calls_of(*step), alone);
  // A stream that got a wait is joined, and that is all.
  ASSERT_TRUE(input->Record(*sent).ok());
  fake_.calls.clear();
  ASSERT_TRUE(b->Wait(*sent).ok());
  EXPECT_EQ(std::count(fake_.calls.begin(), fake_.calls.end(), "cudaStreamWaitEvent"), 1);
  const std::vector<std::string> joined = {"cudaEventRecord", "cudaStreamWaitEvent", "cudaGraphLaunch",
                                           "cudaEventRecord", "cudaEventSynchronize"};
  EXPECT_EQ(calls_of(*evaluate), joined);
  // One of another origin, b, comes behind those of a: b stands behind their end, and so does c.
  EXPECT_EQ(calls_of(*elsewhere), (std::vector<std::string>{"cudaStreamWaitEvent", "cudaStreamWaitEvent",
                                                            "cudaEventRecord", "cudaStreamWaitEvent", "cudaGraphLaunch",
                                                            "cudaEventRecord", "cudaEventSynchronize"}));
  // Work behind a step comes after it, whatever was waited for in between.
  fake_.calls.clear();
  ASSERT_TRUE(c->Wait(*sent).ok());
  ASSERT_TRUE(c->Synchronize().ok());
  std::erase(fake_.calls, "cudaSetDevice");
  EXPECT_EQ(fake_.calls,
            (std::vector<std::string>{"cudaStreamWaitEvent", "cudaStreamWaitEvent", "cudaStreamSynchronize"}));
}

TEST_F(CudaDeviceTest, ATimelineHasTheTimesOfEveryTag) {
  const std::unique_ptr<CudaDevice> device = *Create(/*timeline=*/true);
  const auto a = *device->CreateStream("a"), b = *device->CreateStream("b");
  const auto event = *device->CreateEvent();
  const auto arena = *device->Allocate(64);
  ASSERT_TRUE(device->BeginCapture(std::vector<Stream*>{a.get(), b.get()}).ok());
  a->Tag(0, "first");
  ASSERT_TRUE(a->Zero(arena->data(), 64).ok());
  a->Tag(-1);
  ASSERT_TRUE(a->Record(*event).ok());
  b->Tag(2, "last");
  ASSERT_TRUE(b->Wait(*event).ok());
  ASSERT_TRUE(b->Zero(arena->data(), 64).ok());
  ASSERT_TRUE(b->Zero(arena->data(), 64).ok());
  const auto step = *device->EndCapture();
  SpanRecorder recorder;
  step->SetRecording(&recorder);
  ASSERT_TRUE(step->Launch().ok() && step->Wait().ok());
  const std::vector<Span> spans = recorder.Spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_GT(spans[0].end, spans[0].begin);
  EXPECT_EQ(spans[1].end, 0);
  EXPECT_GE(spans[2].begin, spans[0].end);
  EXPECT_GT(spans[2].end - spans[2].begin, spans[0].end - spans[0].begin);
}

// Before some pieces of work, the same ones with the same seed; what is computed stays.
TEST_F(CudaDeviceTest, SeededDelaysAreLaunchesOfTheirOwn) {
  const auto delays_of = [&](std::optional<uint64_t> seed) {
    int64_t delays = 0;
    fake_.Register(DelayKernel(), [&delays](dim3, dim3, void** arguments) {
      const int microseconds = *static_cast<int*>(arguments[0]);
      EXPECT_GT(microseconds, 0);
      delays += microseconds;
      return [] {};
    });
    CudaDeviceOptions options{0, false, &fake_.api()};
    options.delay = {seed, 0.5, 100};
    const std::unique_ptr<CudaDevice> device = *CudaDevice::Create(std::move(options));
    const auto a = *device->CreateStream("a"), b = *device->CreateStream("b");
    const auto arena = *device->Allocate(256);
    char* const data = static_cast<char*>(arena->data());
    EXPECT_TRUE(device->BeginCapture(std::vector<Stream*>{a.get(), b.get()}).ok());
    for (int i = 0; i < 16; ++i) {
      EXPECT_TRUE(a->Copy(data + 8 * i + 8, data + 8 * i, 8).ok());
      EXPECT_TRUE(b->Zero(data + 200, 8).ok());
    }
    const auto step = *device->EndCapture();
    data[0] = 7;
    EXPECT_TRUE(step->Launch().ok() && step->Wait().ok());
    EXPECT_EQ(data[128], 7);
    return delays;
  };
  EXPECT_EQ(delays_of(std::nullopt), 0);
  EXPECT_GT(delays_of(3), 0);
  EXPECT_EQ(delays_of(3), delays_of(3));
  EXPECT_NE(delays_of(3), delays_of(4));
}

TEST_F(CudaDeviceTest, StridedCopiesAreOneLaunch) {
  const std::unique_ptr<CudaDevice> device = *Create();
  const auto stream = *device->CreateStream("copies");
  // Columns 2 and 3 of a 5 x 6 matrix of 2-byte elements to a dense 5 x 2 one.
  std::vector<uint16_t> from(30), to(10);
  std::iota(from.begin(), from.end(), uint16_t{0});
  const StridedCopy copy{reinterpret_cast<char*>(from.data() + 2), reinterpret_cast<char*>(to.data()), 4, {{5, 12, 4}}};
  fake_.calls.clear();
  ASSERT_TRUE(stream->CopyStrided(copy).ok());
  EXPECT_EQ(std::count(fake_.calls.begin(), fake_.calls.end(), "cudaLaunchKernel"), 1);
  EXPECT_EQ(to, (std::vector<uint16_t>{2, 3, 8, 9, 14, 15, 20, 21, 26, 27}));
}

// Everything a session does with a device.
absl::Status UseEverything(const CudaApi& api) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaDevice> device, CudaDevice::Create({0, true, &api}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Arena> arena, device->Allocate(256));
  ASSIGN_OR_RETURN(const std::unique_ptr<Arena> host, device->AllocateHost(256));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> a, device->CreateStream("a"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> b, device->CreateStream("b", StreamPriority::kHigh));
  ASSIGN_OR_RETURN(const std::unique_ptr<Event> event, device->CreateEvent());
  RETURN_IF_ERROR(a->Copy(arena->data(), host->data(), 256));
  RETURN_IF_ERROR(a->Synchronize());
  RETURN_IF_ERROR(device->BeginCapture(std::vector<Stream*>{a.get(), b.get()}));
  const auto enqueue = [&]() -> absl::Status {
    auto* const data = static_cast<char*>(arena->data());
    a->Tag(0);
    RETURN_IF_ERROR(a->Zero(data, 64));
    RETURN_IF_ERROR(a->Record(*event));
    b->Tag(1);
    RETURN_IF_ERROR(b->Wait(*event));
    return b->CopyStrided({data, data + 128, 4, {{4, 8, 4}}});
  };
  const absl::Status enqueued = enqueue();
  absl::StatusOr<std::unique_ptr<CapturedStep>> step = device->EndCapture();
  RETURN_IF_ERROR(enqueued);
  RETURN_IF_ERROR(step.status());
  SpanRecorder recorder;
  (*step)->SetRecording(&recorder);
  for (int replay = 0; replay < 2; ++replay) {
    RETURN_IF_ERROR((*step)->Launch());
    RETURN_IF_ERROR((*step)->Wait());
  }
  RETURN_IF_ERROR(a->Copy(host->data(), arena->data(), 256));
  return a->Synchronize();
}

// What is called while things are given back may fail unheard: nobody could do anything about it.
bool IsHeard(const std::string& call) {
  return call.find("Destroy") == std::string::npos && call.find("Free") == std::string::npos;
}

TEST_F(CudaDeviceTest, EveryCallMayFail) {
  for (const cudaError_t error : {cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorLaunchFailure}) {
    int64_t failures = 0;
    for (int64_t call = 1;; ++call) {
      fake_.calls.clear();
      fake_.FailAt(call, error);
      const absl::Status status = UseEverything(fake_.api());
      EXPECT_EQ(fake_.live(), 0) << "call " << call;
      if (!fake_.failed()) break;
      if (!status.ok()) {
        ++failures;
        EXPECT_EQ(status.code() == absl::StatusCode::kUnavailable, error == cudaErrorLaunchFailure) << status;
      }
    }
    EXPECT_GT(failures, 50);
    fake_.FailAt(0, cudaSuccess);
  }
  // Without a failure the calls up to the first destruction are those that must be heard.
  fake_.calls.clear();
  ASSERT_TRUE(UseEverything(fake_.api()).ok());
  const std::vector<std::string> whole = fake_.calls;
  const auto heard = std::find_if_not(whole.begin(), whole.end(), IsHeard) - whole.begin();
  for (int64_t call = 1; call < heard; ++call) {  // the last one makes the GPU current for the first destruction
    fake_.FailAt(call, cudaErrorInvalidValue);
    EXPECT_FALSE(UseEverything(fake_.api()).ok()) << "call " << call << ": " << whole[call - 1];
  }
}

}  // namespace
}  // namespace partita
