// Steps of a rank on a GPU, in the order in which CUDA is called, over the fake runtime that does nothing sooner than
// somebody waits for it: the second step is launched before the host has waited for the first, and to wait for the
// first does not do the second. The kernels are the host's; the bits are those of a session on the host.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <tuple>

#include "graph/make_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/api/rank/rank_runtime.h"
#include "runtime/base/status.h"
#include "runtime/comm/cuda_local/cuda_local_world.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/host/host_device.h"
#include "tests/runtime/api/rank/shared_device.h"
#include "tests/runtime/comm/cuda_local/fake_reduce.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

constexpr int kTrain = 0;  // the entry point's place in the program

// A kernel of the host as work that a library enqueues on a stream of the GPU.
class FarKernel : public Kernel {
 public:
  FarKernel(std::unique_ptr<Kernel> kernel, Stream* host, int* runs)
      : kernel_(std::move(kernel)), host_(host), runs_(runs) {}

  absl::Status Launch(Stream& stream) override {
    ASSIGN_OR_RETURN(cudaStream_t const queue, static_cast<CudaStream&>(stream).BeginWork());
    FakeCuda::Enqueue(
        queue, [this] { Run(); }, nullptr);
    return absl::OkStatus();
  }

 private:
  void Run() {
    ++*runs_;
    EXPECT_TRUE(kernel_->Launch(*host_).ok());
    EXPECT_TRUE(host_->Synchronize().ok());
  }

  const std::unique_ptr<Kernel> kernel_;
  Stream* const host_;
  int* const runs_;
};

class FarKernels : public KernelLibrary {
 public:
  mutable int runs = 0;

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override { return kernels_->Choose(node); }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, kernels_->Create(node, choice, std::move(arguments)));
    return std::make_unique<FarKernel>(std::move(kernel), stream_.get(), &runs);
  }

 private:
  HostDevice host_;
  const std::unique_ptr<Stream> stream_ = *host_.CreateStream("kernels");
  const std::unique_ptr<KernelLibrary> kernels_ = MakeHostKernels({.threads = 1});
};

// Of allocations of pinned memory, since the last test began.
int64_t pinned_bytes = 0;
cudaError_t (*allocate_pinned)(void**, size_t, unsigned) = nullptr;

cudaError_t CountPinned(void** memory, size_t bytes, unsigned flags) {
  pinned_bytes += static_cast<int64_t>(bytes);
  return allocate_pinned(memory, bytes, flags);
}

class FakeCudaSteps : public testing::Test {
 protected:
  void SetUp() override {
    pinned_bytes = 0;
    allocate_pinned = fake_.api().cudaHostAlloc;
    api_ = fake_.api();
    api_.cudaHostAlloc = CountPinned;
    fake_.at_once = false;
    device_ = *CudaDevice::Create({0, false, &api_});
    for (const EntryPoint& entry : program_.entries) {
      schedules_.push_back(*MakeSchedule(program_, entry.graph, 0, kernels_, {}));
    }
    RankParts parts;
    parts.device = device_.get();
    for (const Schedule& schedule : schedules_) parts.schedules.push_back(&schedule);
    parts.program = &program_;
    parts.kernels = &kernels_;
    parts.world = world_.get();
    rank_ = *RankRuntime::Create(std::move(parts), options_);
    RankRuntime* const all[] = {rank_.get()};
    const absl::Status captured = RankRuntime::Capture(all, options_);
    ASSERT_TRUE(captured.ok()) << captured;
    ASSERT_EQ(kernels_.runs, 0) << "a capture runs nothing";
  }

  ~FakeCudaSteps() override { rank_->DropExecutors(); }

  void Begin(const StepInputs& batch) {
    ASSERT_TRUE(rank_->WaitUntilInputsSent(kTrain).ok());
    for (const Placement& input : schedules_[kTrain].inputs) {
      CopyToPart((input.name == "images" ? batch.images : batch.labels).bytes.data(), rank_->PartOf(input));
    }
    turns_.push_back(*rank_->TakeInputs(kTrain));
    const absl::Status started = rank_->executor(kTrain).Start(turns_.back());
    ASSERT_TRUE(started.ok()) << started;
  }

  // The loss of the older step.
  float End() {
    const absl::Status ended = rank_->executor(kTrain).Wait();
    EXPECT_TRUE(ended.ok()) << ended;
    const int turn = turns_.front();
    turns_.pop_front();
    return *static_cast<const float*>(rank_->Result(kTrain, 0, turn).data);
  }

  // To make the device current is not work.
  std::vector<std::string> CallsOf(const std::function<void()>& run) {
    fake_.calls.clear();
    run();
    std::vector<std::string> calls = fake_.calls;
    std::erase(calls, "cudaSetDevice");
    return calls;
  }

  FakeCuda fake_;
  CudaApi api_;
  const SessionOptions options_ = SmallOptions();
  const Program program_ = SmallProgram("lenet5", "1x1");
  FarKernels kernels_;
  const std::unique_ptr<LocalWorld> world_ = *LocalWorld::Create(1);
  std::unique_ptr<CudaDevice> device_;
  std::vector<Schedule> schedules_;
  std::unique_ptr<RankRuntime> rank_;
  std::deque<int> turns_;  // of the steps that run
};

StepInputs Batch(int step) { return MakeBatch(4, step, DType::kF32); }

TEST_F(FakeCudaSteps, TheSecondIsLaunchedBeforeTheFirstIsWaitedFor) {
  const std::vector<std::string> calls = CallsOf([&] {
    Begin(Batch(0));
    Begin(Batch(1));
  });
  EXPECT_EQ(kernels_.runs, 0) << "the host waited for a step";
  EXPECT_EQ(std::ranges::count(calls, "cudaGraphLaunch"), 2);
  EXPECT_EQ(std::ranges::count(calls, "cudaStreamSynchronize"), 0);

  End();
  const int once = kernels_.runs;
  EXPECT_GT(once, 0);
  End();
  EXPECT_EQ(kernels_.runs, 2 * once) << "to wait for the first step did some of the second";
}

// What the second begins with is sent while the first runs, and the first reads what was sent for it.
TEST_F(FakeCudaSteps, AreTheBitsOfTheHost) {
  const auto session = SmallSession("lenet5", "1x1");
  Begin(Batch(0));
  for (int step = 0; step < 4; ++step) {
    Begin(Batch(step + 1));
    const float loss = End();
    StageTraining(*session, Batch(step));
    EXPECT_EQ(loss, session->Train()->loss) << "step " << step;
  }
  End();
}

// A step is its two inputs' way to the device, which its first work waits for there, one launch and the mark of its
// end. The host waits only until the inputs before have left its memory, and at the end for the mark.
TEST_F(FakeCudaSteps, CallCudaInThisOrder) {
  Begin(Batch(0));
  Begin(Batch(1));
  End();
  EXPECT_THAT(CallsOf([&] { Begin(Batch(2)); }),
              testing::ElementsAre("cudaEventSynchronize", "cudaMemcpyAsync", "cudaMemcpyAsync", "cudaEventRecord",
                                   "cudaStreamWaitEvent", "cudaGraphLaunch", "cudaEventRecord"));
  EXPECT_THAT(CallsOf([&] { End(); }), testing::ElementsAre("cudaEventSynchronize"));
  End();
}

// Inputs lie in pinned memory; states pass through two buffers no larger than the largest of them.
TEST_F(FakeCudaSteps, PinInputsAndTwoBuffersForStates) {
  int64_t inputs = 0, states = 0, largest = 0;
  for (const Schedule& schedule : schedules_) {
    for (const Placement& input : schedule.inputs) inputs += input.tensor.bytes();
  }
  for (const Placement& state : schedules_[kTrain].states) {
    states += state.tensor.bytes();
    largest = std::max(largest, state.tensor.bytes());
  }
  constexpr int64_t kResultsAndFaults = 2048;
  EXPECT_LE(pinned_bytes, inputs + 2 * (largest + 64) + kResultsAndFaults);
  EXPECT_LT(2 * largest + kResultsAndFaults, states) << "a mirror of the states would pass";
}

// What is stored is what is fetched, of every state, and what other states hold stays.
TEST_F(FakeCudaSteps, StoreAndFetchEveryState) {
  const std::vector<Placement>& states = schedules_[kTrain].states;
  for (size_t s = 0; s < states.size(); ++s) {
    const absl::StatusOr<HeldTensor> bytes = rank_->NewBytes(states[s]);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    std::memset(bytes->data, static_cast<int>(s + 1), static_cast<size_t>(states[s].tensor.bytes()));
    ASSERT_TRUE(rank_->Store(states[s], *bytes).ok());
  }
  for (size_t s = 0; s < states.size(); ++s) {
    const absl::StatusOr<HeldTensor> bytes = rank_->Fetch(states[s]);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const std::string found(static_cast<const char*>(bytes->data), static_cast<size_t>(states[s].tensor.bytes()));
    EXPECT_EQ(found, std::string(found.size(), static_cast<char>(s + 1))) << states[s].name;
  }
}

// Ranks that share the GPU: each has streams of its own, and their collectives meet in CudaLocalWorld.
class FakeCudaRanks : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    RegisterReduceKernels(fake_);
    fake_.at_once = false;
    device_ = *CudaDevice::Create({0, false, &fake_.api()});
    const auto& [strategy, replay] = GetParam();
    shared_ = std::make_unique<SharedDevice>(strategy, replay, *device_, kernels_,
                                             [&](int ranks) { return *CudaLocalWorld::Create(ranks, device_.get()); });
  }

  FakeCuda fake_;
  FarKernels kernels_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<SharedDevice> shared_;
};

TEST_P(FakeCudaRanks, AreTheBitsOfTheHost) { ExpectTheBitsOfASession(std::get<0>(GetParam()), *shared_); }

TEST_P(FakeCudaRanks, HaveTwoStepsInFlight) { ExpectTwoStepsInFlight(std::get<0>(GetParam()), *shared_); }

INSTANTIATE_TEST_SUITE_P(Strategies, FakeCudaRanks,
                         testing::Combine(testing::Values("2x1", "1x2", "2x2", "mixed"), testing::Bool()));

}  // namespace
}  // namespace partita
