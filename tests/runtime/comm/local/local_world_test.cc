// Groups of the ranks of one process. The collectives themselves: tests/conformance.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"
#include "runtime/flight_recorder/flight_recorder.h"
#include "runtime/flight_recorder/waits.h"

namespace partita {
namespace {

bool Contains(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

TEST(LocalWorld, RefusesGroupsThatCannotBe) {
  EXPECT_EQ(LocalWorld::Create(0).status().code(), absl::StatusCode::kInvalidArgument);
  const std::unique_ptr<LocalWorld> world = *LocalWorld::Create(4);
  const auto refused = [&](int id, std::vector<int> ranks, int rank, const std::string& words) {
    const absl::Status status = world->CreateCommunicator(id, std::move(ranks), rank).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(Contains(status, words)) << status;
  };
  refused(1, {}, 0, "group 1: ranks []");
  refused(1, {0, 4}, 0, "ranks [0,4], expected different ones of 0..3");
  refused(1, {-1, 0}, 0, "ranks [-1,0]");
  refused(1, {2, 0, 2}, 0, "ranks [2,0,2]");
  refused(1, {1, 2}, 3, "rank 3 is not among [1,2]");
  const std::unique_ptr<Communicator> first = *world->CreateCommunicator(1, {3, 1}, 1);
  refused(1, {1, 3}, 3, "group 1: rank 3 says its ranks are [1,3], another one said [3,1]");
  refused(1, {3, 1}, 1, "group 1: rank 1 has joined already");
  EXPECT_TRUE(world->CreateCommunicator(1, {3, 1}, 3).ok());
}

TEST(LocalWorld, RanksArePlacesInTheGroup) {
  const std::unique_ptr<LocalWorld> world = *LocalWorld::Create(6);
  const std::unique_ptr<Communicator> communicator = *world->CreateCommunicator(0, {5, 2, 4}, 4);
  EXPECT_EQ(communicator->rank(), 2);
  EXPECT_EQ(communicator->size(), 3);
}

// A mismatch in one group ends the waiting in every other: rank 2 waits for rank 1, which has failed elsewhere.
TEST(LocalWorld, AMismatchEndsTheWholeWorld) {
  std::unique_ptr<LocalWorld> world = *LocalWorld::Create(3);
  HostDevice device;
  float x[2] = {};
  const std::unique_ptr<Communicator> a0 = *world->CreateCommunicator(0, {0, 1}, 0);
  const std::unique_ptr<Communicator> a1 = *world->CreateCommunicator(0, {0, 1}, 1);
  const std::unique_ptr<Communicator> b2 = *world->CreateCommunicator(1, {1, 2}, 2);
  const std::unique_ptr<Stream> s0 = *device.CreateStream("0"), s1 = *device.CreateStream("1"),
                                s2 = *device.CreateStream("2");
  const Buffer one{x, 1, DType::kF32}, two{x, 2, DType::kF32};
  ASSERT_TRUE(b2->AllReduce(one, one, Reduction::kSum, *s2).ok());
  ASSERT_TRUE(a0->AllReduce(one, one, Reduction::kSum, *s0).ok());
  ASSERT_TRUE(a1->AllReduce(two, two, Reduction::kSum, *s1).ok());
  for (const auto& stream : {s0.get(), s1.get(), s2.get()}) {
    EXPECT_TRUE(Contains(stream->Synchronize(), "group 0: different counts")) << stream->name();
  }
  const std::unique_ptr<Communicator> late = *world->CreateCommunicator(2, {0}, 0);
  world = nullptr;  // communicators may outlive it
  ASSERT_TRUE(late->AllReduce(one, one, Reduction::kSum, *s0).ok());
  EXPECT_TRUE(Contains(s0->Synchronize(), "group 0: different counts"));
}

// Rank 1 fails before its collective; rank 0, which is waited for first, is released by the failing device.
TEST(LocalWorld, AFailedReplayReleasesItsPeers) {
  const std::unique_ptr<LocalWorld> world = *LocalWorld::Create(2);
  HostDevice devices[] = {HostDevice({.on_failure = [&](const absl::Status& status) { world->Abort(status); }}),
                          HostDevice({.on_failure = [&](const absl::Status& status) { world->Abort(status); }})};
  float x[2] = {};
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<CapturedStep>> steps;
  for (int rank = 0; rank < 2; ++rank) {
    communicators.push_back(*world->CreateCommunicator(0, {0, 1}, rank));
    streams.push_back(*devices[rank].CreateStream("comm"));
    Stream* const captured[] = {streams[rank].get()};
    ASSERT_TRUE(devices[rank].BeginCapture(captured).ok());
    const auto fail = [](void*) { return absl::OutOfRangeError("not finite"); };
    if (rank == 1) {
      ASSERT_TRUE(static_cast<HostStream&>(*streams[rank]).Enqueue({fail, nullptr}).ok());
    }
    const Buffer one{x + rank, 1, DType::kF32};
    ASSERT_TRUE(communicators[rank]->AllReduce(one, one, Reduction::kSum, *streams[rank]).ok());
    steps.push_back(*devices[rank].EndCapture());
  }
  for (const auto& step : steps) ASSERT_TRUE(step->Launch().ok());
  for (const auto& step : steps) EXPECT_EQ(step->Wait(), absl::OutOfRangeError("not finite"));
}

TEST(LocalWorld, ACommunicatorRunsOneCallAtATime) {
  const std::unique_ptr<LocalWorld> world = *LocalWorld::Create(2);
  HostDevice device;
  float x[2] = {};
  const std::unique_ptr<Communicator> c0 = *world->CreateCommunicator(5, {0, 1}, 0);
  const std::unique_ptr<Stream> s0 = *device.CreateStream("0"), s1 = *device.CreateStream("1");
  const Buffer one{x, 1, DType::kF32};
  ASSERT_TRUE(c0->AllReduce(one, one, Reduction::kSum, *s0).ok());
  ASSERT_TRUE(c0->AllReduce(one, one, Reduction::kSum, *s1).ok());
  EXPECT_TRUE(Contains(s0->Synchronize(), "one rank runs two calls at a time"));
  EXPECT_TRUE(Contains(s1->Synchronize(), "one rank runs two calls at a time"));
}

// Nor where ranks spin before they sleep.
class Waiting : public testing::TestWithParam<std::chrono::microseconds> {};

TEST_P(Waiting, IsNotWithoutEnd) {
  const std::unique_ptr<LocalWorld> world =
      *LocalWorld::Create(3, {.longest_wait = std::chrono::milliseconds(50), .spin = GetParam()});
  HostDevice device;
  float x[2] = {};
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int rank = 0; rank < 2; ++rank) {
    communicators.push_back(*world->CreateCommunicator(4, {0, 1, 2}, rank));
    streams.push_back(*device.CreateStream("comm"));
    const Buffer one{x + rank, 1, DType::kF32};
    ASSERT_TRUE(communicators[rank]->AllReduce(one, one, Reduction::kSum, *streams[rank]).ok());
  }
  for (const auto& stream : streams) {
    const absl::Status status = stream->Synchronize();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(Contains(status, "has waited in all_reduce of 1 f32 (sum) (sequence number 1) for 50 ms")) << status;
    EXPECT_TRUE(Contains(status, "the ranks [2] did not come")) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(LocalWorld, Waiting,
                         testing::Values(std::chrono::microseconds(0), std::chrono::milliseconds(5)));

TEST(LocalWorld, RecordsWhatItsRanksDo) {
  const std::unique_ptr<LocalWorld> world = *LocalWorld::Create(1);
  HostDevice device;
  float x = 0;
  const std::unique_ptr<Communicator> communicator = *world->CreateCommunicator(4, {0}, 0);
  const std::unique_ptr<Stream> stream = *device.CreateStream("comm");
  const Buffer one{&x, 1, DType::kF32};
  ASSERT_TRUE(communicator->AllReduce(one, one, Reduction::kSum, *stream).ok());
  ASSERT_TRUE(communicator->Broadcast(one, one, 0, *stream).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  const std::vector<FlightRecord> records = world->recorder()->Read();
  ASSERT_EQ(records.size(), 1u);
  ASSERT_EQ(records[0].operations.size(), 2u);
  EXPECT_EQ(Describe(records[0].operations[0]), "all_reduce of 1 f32 (sequence number 1)");
  EXPECT_EQ(Describe(records[0].operations[1]), "broadcast of 1 f32 (sequence number 2)");
  EXPECT_FALSE(records[0].operations[1].pending());
}

}  // namespace
}  // namespace partita
