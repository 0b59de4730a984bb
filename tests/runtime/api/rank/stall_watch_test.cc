// A thread that stands still is named soon after the timeout; one that computes, or waits for another process, is not.
#include "runtime/api/rank/stall_watch.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"

namespace partita {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr milliseconds kTimeout(200);

// Two ranks with a stream each, which meet in an all_reduce.
class StallWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < 2; ++rank) {
      streams_.push_back(*device_.CreateStream("rank" + std::to_string(rank)));
      communicators_.push_back(*world_->CreateCommunicator(3, {0, 1}, rank));
      by_rank_[rank] = {streams_.back().get()};
    }
    const auto on_stall = [this](const absl::Status& status, const std::vector<FlightRecord>& records) {
      EXPECT_EQ(records.size(), 2u);
      world_->Abort(status);
      stalled_.set_value(status);
    };
    watch_ = *StallWatch::Start(by_rank_, *world_->recorder(), kTimeout, on_stall);
  }

  void EnqueueAllReduce(int rank) {
    const Buffer buffer{&values_[rank], 1, DType::kF32};
    ASSERT_TRUE(communicators_[rank]->AllReduce(buffer, buffer, Reduction::kSum, *streams_[rank]).ok());
  }

  void EnqueueTask(int rank, absl::Status (*run)(void*), void* argument) {
    ASSERT_TRUE(static_cast<HostStream&>(*streams_[rank]).Enqueue({run, argument}).ok());
  }

  HostDevice device_;
  const std::unique_ptr<LocalWorld> world_ = *LocalWorld::Create(2);
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<int, std::vector<Stream*>> by_rank_;
  float values_[2] = {1, 2};
  std::promise<absl::Status> stalled_;
  std::unique_ptr<StallWatch> watch_;
};

absl::Status BlockUntilSet(void* go_on) {
  static_cast<std::future<void>*>(go_on)->wait();
  return absl::OkStatus();
}

TEST_F(StallWatchTest, ThreadThatStandsStillIsNamed) {
  std::promise<void> end;
  std::future<void> go_on = end.get_future();
  EnqueueTask(1, BlockUntilSet, &go_on);
  EnqueueAllReduce(1);
  EnqueueAllReduce(0);
  std::future<absl::Status> stalled = stalled_.get_future();
  {
    const StallWatch::Waiting waiting(watch_.get(), 0);  // it is not rank 0 that stands still
    // Rank 0 returns: the abort reaches it.
    const absl::Status ended = streams_[0]->Synchronize();
    EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
  }
  const absl::Status told = stalled.get();
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("rank 1 has stood still for 0.2 s"),
                    HasSubstr("rank 0 waited for rank 1 in group 3 [0,1]: all_reduce of 1 f32 (sequence number 1)")));
  end.set_value();
  EXPECT_FALSE(streams_[1]->Synchronize().ok());
}

absl::Status ComputeForLong(void*) {
  const steady_clock::time_point end = steady_clock::now() + 4 * kTimeout;
  volatile double x = 1;
  while (steady_clock::now() < end) x = x * 1.000001 + 1;
  return absl::OkStatus();
}

TEST_F(StallWatchTest, ThreadThatComputesForLongIsNot) {
  EnqueueTask(1, ComputeForLong, nullptr);
  EnqueueAllReduce(1);
  EnqueueAllReduce(0);
  const StallWatch::Waiting waiting(watch_.get(), 0);
  EXPECT_TRUE(streams_[0]->Synchronize().ok());
  EXPECT_EQ(stalled_.get_future().wait_for(milliseconds(0)), std::future_status::timeout);
  EXPECT_EQ(values_[0], 3);
}

// Nobody waits for the ranks: the host does something else.
TEST_F(StallWatchTest, RestIsNoStall) {
  EXPECT_EQ(stalled_.get_future().wait_for(3 * kTimeout), std::future_status::timeout);
}

// Of a rank of another process nothing is known here.
TEST_F(StallWatchTest, WaitForAnotherProcessIsNoStall) {
  watch_.reset();
  FlightRecorder own(2);
  own.Join(0, 3, {0, 1}).Begin({3, 1, "all_reduce", 1, "f32"});
  std::promise<void> end, told;
  std::future<void> go_on = end.get_future(), stalled = told.get_future();
  watch_ = *StallWatch::Start({{0, by_rank_[0]}}, own, kTimeout,
                              [&](const absl::Status&, const std::vector<FlightRecord>&) { told.set_value(); });
  EnqueueTask(0, BlockUntilSet, &go_on);
  {
    const StallWatch::Waiting waiting(watch_.get(), 0);
    EXPECT_EQ(stalled.wait_for(3 * kTimeout), std::future_status::timeout);
  }
  watch_.reset();
  end.set_value();
}

// The kernel holds who forks so until its child ends, as in a wait for a disk.
absl::Status BlockInKernel(void* pipe) {
  const int* const ends = static_cast<const int*>(pipe);
  const pid_t child = vfork();
  if (child == 0) {
    char byte = 0;
    _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
  }
  return child > 0 && waitpid(child, nullptr, 0) == child ? absl::OkStatus() : absl::InternalError("no child");
}

// It will not see what the other process sends: a rank of this process waits no longer, though its last operation says
// that it waits for rank 1.
TEST_F(StallWatchTest, ThreadThatIsHeldInsteadOfWaitingIsAStall) {
  watch_.reset();
  FlightRecorder own(2);
  own.Join(0, 3, {0, 1}).Begin({3, 1, "all_reduce", 1, "f32"});
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::promise<absl::Status> told;
  watch_ =
      *StallWatch::Start({{0, by_rank_[0]}}, own, kTimeout,
                         [&](const absl::Status& status, const std::vector<FlightRecord>&) { told.set_value(status); });
  EnqueueTask(0, BlockInKernel, ends);
  {
    const StallWatch::Waiting waiting(watch_.get(), 0);
    EXPECT_THAT(std::string(told.get_future().get().message()), HasSubstr("rank 0 has stood still for 0.2 s"));
  }
  watch_.reset();
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(streams_[0]->Synchronize().ok());
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace partita
