// Ranks that share a GPU, over the fake runtime: one thread captures all of them into one step.
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/base/status.h"
#include "runtime/comm/cuda_local/cuda_local_world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tests/runtime/comm/cuda_local/fake_reduce.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kElements = 7;
const std::vector<int64_t> kCounts = {3, 0, 4};

// Three ranks on one GPU: reduce-scatter, all-gather, all-reduce in one step, each on the rank's own stream.
struct World {
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<CudaLocalWorld> world;
  std::vector<std::unique_ptr<Arena>> arenas;  // x, then the rank's block
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unique_ptr<CapturedStep> step;

  double* x(int rank) const { return static_cast<double*>(arenas[rank]->data()); }

  absl::Status Enqueue(int rank, int operation) {
    Stream& stream = *streams[rank];
    Communicator& communicator = *communicators[rank];
    const Buffer whole{x(rank), kElements, DType::kF64};
    const Buffer part{x(rank) + kElements, kCounts[rank], DType::kF64};
    stream.Tag(rank * 10 + operation);
    if (operation == 0) return communicator.ReduceScatter(whole, part, kCounts, Reduction::kSum, stream);
    if (operation == 1) return communicator.AllGather(part, whole, kCounts, stream);
    return communicator.AllReduce(whole, whole, Reduction::kMax, stream);
  }
};

absl::StatusOr<World> Make(const CudaApi& api) {
  World w;
  ASSIGN_OR_RETURN(w.device, CudaDevice::Create({0, false, &api}));
  ASSIGN_OR_RETURN(w.world, CudaLocalWorld::Create(kRanks, w.device.get()));
  std::vector<Stream*> streams;
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, w.device->Allocate(16 * 8));
    w.arenas.push_back(std::move(arena));
    ASSIGN_OR_RETURN(auto communicator, w.world->CreateCommunicator(4, {0, 1, 2}, rank));
    w.communicators.push_back(std::move(communicator));
    ASSIGN_OR_RETURN(auto stream, w.device->CreateStream("comm"));
    streams.push_back(stream.get());
    w.streams.push_back(std::move(stream));
  }
  RETURN_IF_ERROR(w.device->BeginCapture(streams));
  absl::Status enqueued;
  for (int operation = 0; operation < 3 && enqueued.ok(); ++operation) {
    for (int rank = 0; rank < kRanks && enqueued.ok(); ++rank) enqueued = w.Enqueue(rank, operation);
  }
  absl::StatusOr<std::unique_ptr<CapturedStep>> step = w.device->EndCapture();
  RETURN_IF_ERROR(enqueued);
  RETURN_IF_ERROR(step.status());
  w.step = *std::move(step);
  return w;
}

TEST(CudaLocal, OneStepOfAllRanksGivesTheSameInAnyOrderThatItAllows) {
  FakeCuda fake;
  RegisterReduceKernels(fake);
  {
    const World w = *Make(fake.api());
    for (int replay = 0; replay < 200; ++replay) {
      for (int rank = 0; rank < kRanks; ++rank) std::fill_n(w.x(rank), kElements, replay + rank);
      ASSERT_TRUE(w.step->Launch().ok() && w.step->Wait().ok());
      for (int rank = 0; rank < kRanks; ++rank) {
        for (int64_t i = 0; i < kElements; ++i) ASSERT_EQ(w.x(rank)[i], 3 * replay + 3) << replay << " " << rank;
      }
    }
    int64_t payload = 0, wire = 0;
    for (const auto& communicator : w.communicators) {
      payload += communicator->bytes().payload;
      wire += communicator->bytes().wire;
      EXPECT_EQ(communicator->bytes().calls, 600);
    }
    EXPECT_EQ(payload, 200 * 3 * kElements * 8);
    EXPECT_EQ(wire, 200 * (2 + 2 + 4) * kElements * 8);
  }
  EXPECT_EQ(fake.live(), 0);
}

TEST(CudaLocal, ACallThatWaitsForPeersHoldsItsStream) {
  FakeCuda fake;
  RegisterReduceKernels(fake);
  World w = *Make(fake.api());
  ASSERT_TRUE(w.Enqueue(0, 2).ok());
  EXPECT_EQ(w.streams[0]->Zero(w.x(0), 8).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(w.streams[1]->Zero(w.x(1), 8).ok());
  ASSERT_TRUE(w.Enqueue(1, 2).ok());
  ASSERT_TRUE(w.Enqueue(2, 2).ok());
  EXPECT_TRUE(w.streams[0]->Zero(w.x(0), 8).ok());
}

TEST(CudaLocal, CallsThatDoNotFitNameRanksAndOperations) {
  FakeCuda fake;
  RegisterReduceKernels(fake);
  World w = *Make(fake.api());
  ASSERT_TRUE(w.Enqueue(0, 2).ok());
  const absl::Status status = w.Enqueue(1, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("group 4: different operations: rank 0 calls all_reduce of 7 f64 (max)"),
            std::string::npos)
      << status;
}

TEST(CudaLocal, RefusesWhatCannotShareAGpu) {
  FakeCuda fake;
  const std::unique_ptr<CudaDevice> device = *CudaDevice::Create({0, false, &fake.api()});
  EXPECT_EQ(CudaLocalWorld::Create(17, device.get()).status().message(),
            "17 ranks on device 'cuda:0'; 1 to 16 may share a GPU");
  const auto world = *CudaLocalWorld::Create(2, device.get());
  const auto first = world->CreateCommunicator(0, {0, 1}, 0);
  EXPECT_EQ(world->CreateCommunicator(0, {0, 1}, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(world->CreateCommunicator(0, {1, 0}, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(world->CreateCommunicator(1, {0, 2}, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CudaLocal, EveryCallMayFail) {
  FakeCuda fake;
  RegisterReduceKernels(fake);
  int64_t failures = 0;
  for (int64_t call = 1;; ++call) {
    fake.FailAt(call, cudaErrorInvalidValue);
    {
      const absl::StatusOr<World> w = Make(fake.api());
      failures += w.ok() ? 0 : 1;
    }
    EXPECT_EQ(fake.live(), 0) << "call " << call;
    if (!fake.failed()) break;
  }
  EXPECT_GT(failures, 100);
}

}  // namespace
}  // namespace partita
