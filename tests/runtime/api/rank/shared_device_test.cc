// Ranks that share a device which the host does not reach, as on a GPU, here made of the host's streams: they are
// walked together, inputs and results travel with the step, states are stored and fetched. The bits are those of a
// session.
#include <gtest/gtest.h>

#include <deque>

#include "graph/make_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/api/rank/rank_runtime.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

constexpr int kSteps = 3;

// The session would read and write arenas of a HostDevice directly.
class FarDevice : public HostDevice {
 public:
  using HostDevice::HostDevice;
  bool host_addressable() const override { return false; }
};

// The host's kernels; that of one node leaves a word behind its work, as a kernel does that cannot return an error.
class WordyKernels : public KernelLibrary {
 public:
  explicit WordyKernels(std::string node) : node_(std::move(node)) {}

  uint64_t word = 0;  // what it leaves in the next steps

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override { return host_->Choose(node); }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    uint64_t* const fault = arguments.fault;
    EXPECT_NE(fault, nullptr);
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, host_->Create(node, choice, std::move(arguments)));
    if (node.name != node_) return kernel;
    return std::make_unique<Wordy>(std::move(kernel), &word, fault);
  }

 private:
  class Wordy : public Kernel {
   public:
    Wordy(std::unique_ptr<Kernel> kernel, const uint64_t* word, uint64_t* fault)
        : kernel_(std::move(kernel)), word_(word), fault_(fault) {}
    absl::Status Launch(Stream& stream) override {
      RETURN_IF_ERROR(kernel_->Launch(stream));
      return static_cast<HostStream&>(stream).Enqueue({Leave, this});
    }
    absl::Status Fault(uint64_t word) const override { return InvalidArgument("the word is {}", word); }

   private:
    static absl::Status Leave(void* self) {
      const auto& wordy = *static_cast<Wordy*>(self);
      *wordy.fault_ = *wordy.word_;
      return absl::OkStatus();
    }
    const std::unique_ptr<Kernel> kernel_;
    const uint64_t* const word_;
    uint64_t* const fault_;
  };

  const std::string node_;
  const std::unique_ptr<KernelLibrary> host_ = MakeHostKernels({.threads = 1});
};

class SharedDevice {
 public:
  SharedDevice(const std::string& model, const std::string& strategy, bool replay,
               std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.threads = 1}))
      : program_(SmallProgram(model, strategy)),
        kernels_(std::move(kernels)),
        world_(*LocalWorld::Create(program_.ranks())) {
    const int ranks = program_.ranks();
    options_.device.replay = replay;
    for (int rank = 0; rank < ranks; ++rank) {
      const ScheduleOptions options{.exchange_boxes = world_->moves_blocks()};
      train_.push_back(*MakeSchedule(program_, program_.graph(kTrainEntry), rank, *kernels_, options));
      evaluate_.push_back(*MakeSchedule(program_, program_.graph(kEvaluateEntry), rank, *kernels_, options));
    }
    std::vector<RankRuntime*> all;
    for (int rank = 0; rank < ranks; ++rank) {
      RankParts parts;
      parts.rank = rank;
      parts.device = &device_;
      parts.schedules = {&train_[rank], &evaluate_[rank]};
      parts.program = &program_;
      parts.kernels = kernels_.get();
      parts.world = world_.get();
      ranks_.push_back(*RankRuntime::Create(std::move(parts), options_));
      all.push_back(ranks_.back().get());
    }
    const absl::Status captured = RankRuntime::Capture(all, options_);
    EXPECT_TRUE(captured.ok()) << captured;
  }

  ~SharedDevice() {
    for (auto& rank : ranks_) rank->DropExecutors();
  }

  // The loss of rank 0.
  double Step(const StepInputs& batch) {
    const absl::Status ended = TryStep(batch);
    EXPECT_TRUE(ended.ok()) << ended;
    return LastLoss();
  }

  absl::Status TryStep(const StepInputs& batch) {
    Begin(batch);
    return End();
  }

  // Behind the step that runs, if there is one.
  void Begin(const StepInputs& batch) {
    for (const auto& rank : ranks_) EXPECT_TRUE(rank->WaitUntilInputsSent(0).ok());
    Write(batch);
    int turn = 0;
    for (const auto& rank : ranks_) turn = *rank->TakeInputs(0);
    Executor& executor = ranks_[0]->executor(0);
    EXPECT_EQ(&executor, &ranks_.back()->executor(0));
    EXPECT_TRUE(executor.Start(turn).ok());
    EXPECT_EQ(executor.Start(turn).code(), absl::StatusCode::kFailedPrecondition);
    turns_.push_back(turn);
  }

  // Of the older step.
  absl::Status End() {
    ended_ = turns_.front();
    turns_.pop_front();
    return ranks_[0]->executor(0).Wait();
  }

  void Write(const StepInputs& batch) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const Placement& input : train_[rank].inputs) {
        if (input.offset < 0) continue;
        CopyToPart((input.name == "images" ? batch.images : batch.labels).bytes.data(), ranks_[rank]->PartOf(input));
      }
    }
  }

  // Of the step that ended last.
  double LastLoss() const { return *static_cast<const float*>(ranks_[0]->Result(0, 0, ended_).data); }

  const Graph& train() const { return program_.graph(kTrainEntry); }

  // What rank 0 holds of a state.
  std::vector<char> Held(const std::string& name) {
    for (const Placement& state : train_[0].states) {
      if (state.name != name || state.offset < 0) continue;
      EXPECT_TRUE(ranks_[0]->Fetch(state).ok());
      const char* const data = static_cast<const char*>(ranks_[0]->PartOf(state).data);
      return {data, data + state.tensor.bytes()};
    }
    return {};
  }

 private:
  SessionOptions options_ = SmallOptions();
  const Program program_;
  const std::unique_ptr<KernelLibrary> kernels_;
  const std::unique_ptr<LocalWorld> world_;
  FarDevice device_;
  std::vector<Schedule> train_, evaluate_;
  std::vector<std::unique_ptr<RankRuntime>> ranks_;
  std::deque<int> turns_;  // of the steps that run
  int ended_ = 0;
};

void ExpectTheBitsOfASession(const std::string& strategy, bool replay) {
  const auto session = SmallSession("lenet5", strategy);
  SharedDevice shared("lenet5", strategy, replay);
  const auto part = [&](const std::string& name) {
    for (const Placement& state : session->schedule(kTrainEntry, 0).states) {
      if (state.name == name) return state.tensor;
    }
    return LocalTensor{};
  };
  for (int step = 0; step <= kSteps; ++step) {
    for (const std::string& name : session->StateNames()) {
      const LocalTensor tensor = part(name);
      std::vector<char> expected(static_cast<size_t>(tensor.bytes()));
      CopyToPart(session->ReadState(name)->bytes.data(), {tensor, expected.data()});
      const std::vector<char> held = shared.Held(name);
      if (held.empty()) continue;
      EXPECT_EQ(held, expected) << name << " before step " << step;
    }
    const StepInputs batch = MakeBatch(4, step, DType::kF32);
    StageTraining(*session, batch);
    EXPECT_EQ(shared.Step(batch), session->Train()->loss);
  }
}

TEST(SharedDevice, OneRank) { ExpectTheBitsOfASession("1x1", true); }
TEST(SharedDevice, Replicas) { ExpectTheBitsOfASession("2x1", true); }
TEST(SharedDevice, Hybrid) { ExpectTheBitsOfASession("2x2", true); }
TEST(SharedDevice, HybridWithoutReplay) { ExpectTheBitsOfASession("2x2", false); }
TEST(SharedDevice, Mixed) { ExpectTheBitsOfASession("mixed", true); }

// The next step is begun while one runs, and its results do not touch those of the one before.
TEST(SharedDevice, AStepIsInFlightBehindTheOther) {
  for (const char* const strategy : {"1x1", "2x2", "mixed"}) {
    for (const bool replay : {true, false}) {
      const auto session = SmallSession("lenet5", strategy);
      SharedDevice shared("lenet5", strategy, replay);
      shared.Begin(MakeBatch(4, 0, DType::kF32));
      for (int step = 0; step < 5; ++step) {
        shared.Begin(MakeBatch(4, step + 1, DType::kF32));
        const absl::Status ended = shared.End();
        ASSERT_TRUE(ended.ok()) << ended;
        StageTraining(*session, MakeBatch(4, step, DType::kF32));
        EXPECT_EQ(shared.LastLoss(), session->Train()->loss) << "step " << step << (replay ? "" : " without replay");
      }
      EXPECT_TRUE(shared.End().ok());
    }
  }
}

// Of all ranks of the device, with and without replay; and only in the step that left the word.
TEST(SharedDevice, AWordThatAKernelLeavesIsTheErrorOfItsStep) {
  const std::string node = "loss";
  for (const bool replay : {true, false}) {
    auto kernels = std::make_unique<WordyKernels>(node);
    uint64_t& word = kernels->word;
    SharedDevice shared("lenet5", "2x1", replay, std::move(kernels));
    ASSERT_NE(shared.train().Find(node), kNoValue);
    EXPECT_TRUE(shared.TryStep(MakeBatch(4, 0, DType::kF32)).ok());
    word = 17;
    const absl::Status status = shared.TryStep(MakeBatch(4, 1, DType::kF32));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "rank 0: node 'loss': the word is 17");
    word = 0;
    EXPECT_TRUE(shared.TryStep(MakeBatch(4, 2, DType::kF32)).ok());
  }
}

}  // namespace
}  // namespace partita
