// A replayed step allocates nothing: not the streams, not the events, not the collectives, not the recorder.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/span_recorder.h"

namespace {

std::atomic<int64_t> allocations{0};

void* Allocate(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  std::abort();
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes); }
void* operator new[](std::size_t bytes) { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace partita {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kSmall = 30, kLarge = 90000;

// One rank: everything that can be captured, on two streams.
struct Rank {
  Rank(LocalWorld& world, int rank) : communicator(*world.CreateCommunicator(0, {0, 1, 2}, rank)) {
    float* const x = static_cast<float*>(memory->data());
    float* const y = x + kLarge;
    const std::vector<int64_t> counts(kRanks, kSmall / kRanks);
    const std::unique_ptr<Event> event = *device.CreateEvent();
    Stream* const streams[] = {compute.get(), comm.get()};
    EXPECT_TRUE(device.BeginCapture(streams).ok());
    compute->Tag(0);
    EXPECT_TRUE(compute->Zero(x, 4 * kLarge).ok());
    EXPECT_TRUE(compute->Record(*event).ok());
    EXPECT_TRUE(comm->Wait(*event).ok());
    for (int64_t n : {kSmall, kLarge}) {
      comm->Tag(n == kSmall ? 1 : 2);
      const Buffer in{x, n, DType::kF32}, out{y, n, DType::kF32};
      EXPECT_TRUE(communicator->AllReduce(in, out, Reduction::kSum, *comm).ok());
      EXPECT_TRUE(communicator->Broadcast(in, out, 1, *comm).ok());
      EXPECT_TRUE(communicator->Reduce(in, out, 2, Reduction::kMax, *comm).ok());
    }
    const Buffer block{x, kSmall / kRanks, DType::kF32}, all{y, kSmall, DType::kF32};
    EXPECT_TRUE(communicator->AllGather(block, all, counts, *comm).ok());
    EXPECT_TRUE(communicator->ReduceScatter(all, block, counts, Reduction::kSum, *comm).ok());
    EXPECT_TRUE(communicator->AllToAll(Buffer{x, kSmall, DType::kF32}, counts, all, counts, *comm).ok());
    std::vector<StridedBlock> columns, rows;
    for (int64_t peer = 0; peer < kRanks; ++peer) {
      columns.push_back({peer, {{kLarge / 20, 12}, {2, 5}}});
      rows.push_back({peer * kLarge / 10, {{kLarge / 20, 2}, {2, 1}}});
    }
    EXPECT_TRUE(
        communicator
            ->AllToAllBlocks(Buffer{x, kLarge, DType::kF32}, columns, Buffer{y, kLarge, DType::kF32}, rows, *comm)
            .ok());
    step = *device.EndCapture();
    step->SetRecording(&recorder);
  }

  HostDevice device;
  std::unique_ptr<Arena> memory = *device.Allocate(8 * kLarge);
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Stream> compute = *device.CreateStream("compute"), comm = *device.CreateStream("comm");
  SpanRecorder recorder;
  std::unique_ptr<CapturedStep> step;
};

TEST(Allocation, NoneInAReplay) {
  const std::unique_ptr<LocalWorld> world = *LocalWorld::Create(kRanks);
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int rank = 0; rank < kRanks; ++rank) ranks.push_back(std::make_unique<Rank>(*world, rank));
  int failures = 0;
  const auto replay = [&] {
    for (const auto& rank : ranks) failures += !rank->step->Launch().ok();
    for (const auto& rank : ranks) failures += !rank->step->Wait().ok();
  };
  for (int i = 0; i < 5; ++i) replay();  // queues grow to their size
  const int64_t before = allocations.load();
  for (int i = 0; i < 50; ++i) replay();
  EXPECT_EQ(allocations.load() - before, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_GT(ranks[0]->recorder.Spans()[2].end, 0);
  EXPECT_GT(allocations.load(), before);  // they are counted: Spans() allocates
}

}  // namespace
}  // namespace partita
