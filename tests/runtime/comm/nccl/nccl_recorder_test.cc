// What GPUs leave behind when one of them never comes to a collective of a captured step: who, in which group, at which
// operation, without the host ever having waited for a GPU to know it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/count_up_kernel.h"
#include "runtime/comm/nccl/nccl_world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/flight_recorder/flight_recorder.h"
#include "runtime/flight_recorder/post_mortem.h"
#include "tests/runtime/comm/nccl/fake_nccl.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

using State = FlownOperation::State;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const char compute = 0;  // its address stands for a kernel

// One of two ranks, which live one after the other here.
class Rank {
 public:
  // `gives_up`: its watchdog looks often, and soon loses patience.
  Rank(int rank, bool gives_up) {
    cuda_.at_once = false;
    nccl_.patience = std::chrono::seconds(20);
    cuda_.Register(CountUpKernel(), CountUp);
    cuda_.Register(&compute, [this](dim3, dim3, void**) { return [this] { compute_(); }; });
    device_ = *CudaDevice::Create({0, false, &cuda_.api()});
    stream_ = *device_->CreateStream("comm", StreamPriority::kHigh);
    NcclWorldOptions options;
    options.api = &nccl_.api();
    options.device = device_.get();
    options.rank = rank;
    options.ranks = 2;
    options.groups = {{0, 1}, {1, 0}};
    options.host = "here";
    options.poll_every = milliseconds(gives_up ? 1 : 0);
    options.give_up_after = milliseconds(50);
    options.exchange = [rank](const std::string& own) -> absl::StatusOr<std::vector<std::string>> {
      std::vector words(2, std::string("there\0000000:01:00\0", 17) + std::string(NCCL_UNIQUE_ID_BYTES, 'i'));
      words[rank] = own;
      return words;
    };
    world_ = *NcclWorld::Create(std::move(options));
    for (int group = 0; group < 2; ++group) {
      communicators_.push_back(*world_->CreateCommunicator(group, Ranks(group), rank));
    }
  }

  ~Rank() {
    EXPECT_FALSE(nccl_.stuck);
    step_ = nullptr;
    communicators_.clear();
    world_ = nullptr;
  }

  // An all_reduce of group 0; something that is computed; all_gathers of group 1.
  absl::Status Capture(int gathers = 1) {
    RETURN_IF_ERROR(device_->BeginCapture(std::vector<Stream*>{stream_.get()}));
    auto& stream = static_cast<CudaStream&>(*stream_);
    absl::Status status =
        communicators_[0]->AllReduce({data_, 4, DType::kF32}, {data_, 4, DType::kF32}, Reduction::kSum, stream);
    if (status.ok()) status = stream.Launch(&compute, {1}, {1}, nullptr);
    for (int64_t gather = 0; gather < gathers && status.ok(); ++gather) {
      status =
          communicators_[1]->AllGather({data_, 2 + gather, DType::kF32}, {data_ + 1024, 4 + 2 * gather, DType::kF32},
                                       std::vector<int64_t>(2, 2 + gather), stream);
    }
    absl::StatusOr<std::unique_ptr<CapturedStep>> step = device_->EndCapture();
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(step.status());
    step_ = *std::move(step);
    return absl::OkStatus();
  }

  absl::Status Replay() {
    RETURN_IF_ERROR(step_->Launch());
    return step_->Wait();
  }

  // What the computation does from now on.
  void HangInTheComputation() {
    compute_ = [this] {
      while (device_->context().Activate().ok()) std::this_thread::sleep_for(milliseconds(1));
    };
  }
  void LoseThePeerInTheComputation() {
    compute_ = [this] { nccl_.peers_are_gone = true; };
  }

  FlightRecord Record() const { return world_->recorder()->Read().front(); }
  std::vector<FlownOperation> Flown() const { return Record().operations; }
  NcclWorld& world() { return *world_; }
  CapturedStep& step() { return *step_; }
  const std::vector<std::string>& Calls() const { return cuda_.calls; }

 private:
  std::vector<int> Ranks(int group) const { return group == 0 ? std::vector{0, 1} : std::vector{1, 0}; }

  FakeCuda cuda_;
  FakeNccl nccl_;
  float data_[4096] = {};
  std::function<void()> compute_ = [] {};
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<NcclWorld> world_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::unique_ptr<CapturedStep> step_;
};

TEST(NcclRecorder, ACollectiveIsLaunchedBeginsAndEnds) {
  Rank rank(0, false);
  ASSERT_TRUE(rank.Capture().ok());
  EXPECT_EQ(std::ranges::count(rank.Calls(), "cudaLaunchKernel"), 2 * 2 + 1) << "something lies between the two";
  EXPECT_TRUE(rank.Flown().empty());
  ASSERT_TRUE(rank.step().Launch().ok());
  const size_t calls = rank.Calls().size();
  rank.world().Poll();
  EXPECT_EQ(rank.Calls().size(), calls) << "a look asks nothing of CUDA";
  EXPECT_EQ(rank.Flown().size(), 2u);
  for (const FlownOperation& flown : rank.Flown()) {
    EXPECT_EQ(flown.state, State::kLaunched);
    EXPECT_EQ(flown.sequence, 1);
    EXPECT_FALSE(flown.pending());
  }
  ASSERT_TRUE(rank.step().Wait().ok());
  rank.world().Poll();
  const std::vector<FlownOperation> flown = rank.Flown();
  ASSERT_EQ(flown.size(), 2u);
  EXPECT_EQ(flown[0].name, "all_reduce");
  EXPECT_EQ(flown[0].count, 4);
  EXPECT_EQ(flown[1].name, "all_gather");
  for (const FlownOperation& ended : flown) EXPECT_EQ(ended.state, State::kEnded);
}

// The end of a collective and the beginning of the next one are one launch, if nothing lies between them.
TEST(NcclRecorder, OneLaunchCountsForTwoNeighbours) {
  Rank rank(0, false);
  ASSERT_TRUE(rank.Capture(10).ok());
  EXPECT_EQ(std::ranges::count(rank.Calls(), "cudaLaunchKernel"), 2 + 1 + (10 + 1));
  ASSERT_TRUE(rank.Replay().ok());
  ASSERT_TRUE(rank.Replay().ok());
  rank.world().Poll();
  for (const FlownOperation& flown : rank.Flown()) EXPECT_EQ(flown.state, State::kEnded);
  EXPECT_EQ(rank.Flown().back().sequence, 20);
}

TEST(NcclRecorder, OneRankNeverComesToACollective) {
  std::vector<FlightRecord> records;
  for (int r = 0; r < 2; ++r) {
    Rank rank(r, true);
    ASSERT_TRUE(rank.Capture().ok());
    ASSERT_TRUE(rank.Replay().ok());
    rank.world().Poll();
    if (r == 0) rank.LoseThePeerInTheComputation();
    if (r == 1) rank.HangInTheComputation();
    const absl::Status status = rank.Replay();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    records.push_back(rank.Record());
  }
  const FlownOperation& waited = records[0].operations.back();
  EXPECT_EQ(waited.state, State::kFailed);
  EXPECT_GT(waited.end, waited.begin);
  const PostMortem found = FindCause(records);
  EXPECT_EQ(found.cause, PostMortem::Cause::kWaited);
  EXPECT_EQ(found.ranks, std::vector<int>{1});
  EXPECT_THAT(found.sentence,
              AllOf(MatchesRegex(R"(rank 0 waited for rank 1 in group 1 \[1,0\]: all_gather.* \(sequence number 2\), )"
                                 R"(since .* UTC, for [0-9.]+ s; rank 1 was in no collective since it ended )"
                                 R"(all_reduce of 4 f32 \(sequence number 2\) of group 0 \[0,1\], .* before.*)"),
                    HasSubstr("and its GPU had not come to all_gather")));
}

// A step launches more than are remembered otherwise, and the GPU stands at the first of them.
TEST(NcclRecorder, TheNameIsThatOfTheCollectiveThatRuns) {
  Rank rank(0, true);
  ASSERT_TRUE(rank.Capture(700).ok());
  rank.LoseThePeerInTheComputation();
  EXPECT_THAT(std::string(rank.Replay().message()),
              HasSubstr("group 1: all_gather of [2,2] f32, sequence number 1: has not ended within 50 ms"));
  EXPECT_EQ(rank.Flown().back().name, "all_gather");
}

// What the watchdog has not seen one by one: the latest are written, and nothing stays open.
TEST(NcclRecorder, OfManyTheLatestAreWritten) {
  Rank rank(0, false);
  ASSERT_TRUE(rank.Capture(100).ok());
  ASSERT_TRUE(rank.step().Launch().ok());
  rank.world().Poll();
  ASSERT_TRUE(rank.step().Wait().ok());
  rank.world().Poll();
  const std::vector<FlownOperation> flown = rank.Flown();
  EXPECT_TRUE(std::ranges::all_of(flown, [](const auto& one) { return one.state == State::kEnded; }));
  EXPECT_EQ(flown.back().sequence, 100);
  EXPECT_LT(flown.size(), 30u);
}

}  // namespace
}  // namespace partita
