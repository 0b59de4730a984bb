// NCCL's communicators over fakes: what is asked of the library and in which order, and what is said when it fails.
#include "runtime/comm/nccl/nccl_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/count_up_kernel.h"
#include "runtime/comm/nccl/nccl_algorithms.h"
#include "tests/runtime/comm/nccl/fake_nccl.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

using Log = std::vector<std::string>;

// Rank 1 of three, in groups {0, 1, 2} and {1, 2}; what the other processes say is made up.
class NcclWorldTest : public testing::Test {
 protected:
  NcclWorldTest() {
    cuda_.Register(CountUpKernel(), [this](dim3 grid, dim3 block, void** arguments) {
      // What a collective reads lies on its side of the bus.
      EXPECT_TRUE(cuda_.on_device(*static_cast<void**>(arguments[0])));
      EXPECT_TRUE(cuda_.pinned(*static_cast<void**>(arguments[1])));
      return CountUp(grid, block, arguments);
    });
  }

  static std::string Words(const std::string& host, const std::string& gpu, std::vector<std::string> ids) {
    std::string words = host + '\0' + gpu + '\0';
    for (std::string& id : ids) {
      id.resize(NCCL_UNIQUE_ID_BYTES);
      words += id;
    }
    return words;
  }

  NcclWorldOptions Options() {
    NcclWorldOptions options;
    options.api = &nccl_.api();
    options.device = device_.get();
    options.rank = 1;
    options.ranks = 3;
    options.groups = {{0, 1, 2}, {1, 2}};
    options.host = "here";
    options.poll_every = std::chrono::milliseconds(0);
    options.exchange = [this](const std::string& own) -> absl::StatusOr<std::vector<std::string>> {
      if (!exchange_.ok()) return exchange_;
      return std::vector<std::string>{Words("there", "0000:00:00", {"id of 0"}), own, third_};
    };
    return options;
  }

  absl::Status Start(NcclWorldOptions options) {
    ASSIGN_OR_RETURN(world_, NcclWorld::Create(std::move(options)));
    ASSIGN_OR_RETURN(all_, world_->CreateCommunicator(0, {0, 1, 2}, 1));
    ASSIGN_OR_RETURN(pair_, world_->CreateCommunicator(1, {1, 2}, 1));
    nccl_.log.clear();
    return absl::OkStatus();
  }

  // All that is under way has ended then.
  void Drop() {
    all_ = nullptr;
    pair_ = nullptr;
    world_ = nullptr;
  }

  absl::Status Everything() {
    float x[12] = {};
    const Buffer in{x, 6, DType::kF32}, out{x + 6, 6, DType::kF32};
    RETURN_IF_ERROR(all_->AllReduce(in, in, Reduction::kSum, *stream_));
    RETURN_IF_ERROR(all_->AllGather({x, 2, DType::kF32}, out, std::vector<int64_t>{2, 2, 2}, *stream_));
    RETURN_IF_ERROR(all_->AllGather({x, 1, DType::kF32}, out, std::vector<int64_t>{5, 1, 0}, *stream_));
    RETURN_IF_ERROR(
        all_->ReduceScatter(in, {x, 1, DType::kF32}, std::vector<int64_t>{5, 1, 0}, Reduction::kMax, *stream_));
    RETURN_IF_ERROR(all_->Broadcast({}, out, 2, *stream_));
    RETURN_IF_ERROR(all_->Reduce(in, {}, 0, Reduction::kSum, *stream_));
    RETURN_IF_ERROR(all_->AllToAll(in, std::vector<int64_t>{3, 1, 2}, {x + 6, 3, DType::kF32},
                                   std::vector<int64_t>{2, 1, 0}, *stream_));
    return pair_->AllToAll({x, 3, DType::kF32}, std::vector<int64_t>{0, 3}, {x + 6, 2, DType::kF32},
                           std::vector<int64_t>{0, 2}, *stream_);
  }

  FakeCuda cuda_;
  FakeNccl nccl_;
  absl::Status exchange_;
  std::string third_ = Words("there", "0000:01:00", {});
  const std::unique_ptr<CudaDevice> device_ = *CudaDevice::Create({0, false, &cuda_.api()});
  const std::unique_ptr<Stream> stream_ = *device_->CreateStream("comm", StreamPriority::kHigh);
  std::unique_ptr<NcclWorld> world_;
  std::unique_ptr<Communicator> all_, pair_;
};

TEST_F(NcclWorldTest, GroupsAreCreatedInTheProgramsOrderByTheIdOfTheirFirstRank) {
  ASSERT_TRUE(NcclWorld::Create(Options()).ok());
  EXPECT_EQ(nccl_.log, (Log{"id"}));  // of group 1, which begins here
  nccl_.log.clear();
  world_ = *NcclWorld::Create(Options());
  all_ = *world_->CreateCommunicator(0, {0, 1, 2}, 1);
  pair_ = *world_->CreateCommunicator(1, {1, 2}, 1);
  EXPECT_EQ(nccl_.log, (Log{"id", "init 3 ranks as 1 by 'id of 0'", "init 2 ranks as 0 by 'id 2'"}));
  EXPECT_EQ(world_->CreateCommunicator(1, {1, 2}, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(world_->CreateCommunicator(0, {1, 0, 2}, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NcclWorldTest, UnevenBlocksAreGroupsOfWholeOperations) {
  ASSERT_TRUE(Start(Options()).ok());
  ASSERT_TRUE(Everything().ok());
  EXPECT_EQ(nccl_.log, (Log{"all_reduce 6 sum",
                            "all_gather 2",
                            "group {",
                            "broadcast 5 from 0 in place",
                            "broadcast 1 from 1",
                            "}",
                            "group {",
                            "reduce 5 max to 0",
                            "reduce 1 max to 1",
                            "}",
                            "broadcast 6 from 2 in place",
                            "reduce 6 sum to 0",
                            "group {",
                            "send 3 to 0",
                            "receive 2 from 0",
                            "send 2 to 2",
                            "}",
                            "group {",
                            "send 3 to 1",
                            "receive 2 from 1",
                            "}"}));
  // 4 bytes: all_reduce 2 * 2 + 4, all_gather 4 and 5, reduce_scatter 2, broadcast 6, all_to_all 5.
  EXPECT_EQ(all_->bytes().wire, 4 * (8 + 4 + 5 + 2 + 6 + 0 + 5));
  EXPECT_EQ(all_->bytes().calls, 7);
  EXPECT_EQ(pair_->bytes().payload, 4 * 3);
}

TEST_F(NcclWorldTest, AnErrorInTheBackgroundEndsAllAndNamesTheCollective) {
  ASSERT_TRUE(Start(Options()).ok());
  ASSERT_TRUE(Everything().ok());
  world_->Poll();
  EXPECT_TRUE(stream_->Synchronize().ok());
  nccl_.background = ncclRemoteError;
  nccl_.log.clear();
  world_->Poll();
  const absl::Status status = stream_->Synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(),
            "rank 1: group 0: all_to_all of [3,1,2] to [2,1,0] f32, sequence number 7: in the background: remote error "
            "(connection closed)");
  EXPECT_FALSE(Everything().ok());
  EXPECT_EQ(world_->CreateCommunicator(1, {1, 2}, 1).status(), status);
  world_->Poll();  // nothing more happens
  Drop();
  EXPECT_EQ(nccl_.log, (Log{"group {", "abort", "abort", "}"}));
  EXPECT_EQ(nccl_.live, 0);
}

TEST_F(NcclWorldTest, ACollectiveThatDoesNotMoveOnIsGivenUp) {
  cuda_.Register(CountUpKernel(), [](dim3, dim3, void**) { return [] {}; });  // the GPU never comes there
  NcclWorldOptions options = Options();
  options.give_up_after = std::chrono::milliseconds(20);
  ASSERT_TRUE(Start(std::move(options)).ok());
  world_->Poll();
  EXPECT_TRUE(stream_->Synchronize().ok());
  float x[6] = {};
  ASSERT_TRUE(pair_->AllReduce({x, 6, DType::kF32}, {x, 6, DType::kF32}, Reduction::kSum, *stream_).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  world_->Poll();
  EXPECT_EQ(stream_->Synchronize().message(),
            "rank 1: group 1: all_reduce of 6 f32 (sum), sequence number 1: has not ended within 20 ms; a peer is gone "
            "or stuck");
}

TEST_F(NcclWorldTest, ElementTypesAreTheLibrarys) {
  ASSERT_TRUE(Start(Options()).ok());
  double x[6] = {};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kBF16}) {
    ASSERT_TRUE(pair_->AllReduce({x, 6, dtype}, {x, 6, dtype}, Reduction::kSum, *stream_).ok());
  }
  EXPECT_EQ(nccl_.all_reduced, (std::vector<ncclDataType_t>{ncclFloat32, ncclFloat64, ncclInt32, ncclBfloat16}));
}

// Every call is under way for a while, those of NCCL's groups as one.
TEST_F(NcclWorldTest, CallsThatDoNotBlockAreWaitedFor) {
  nccl_.looks_until_done = 3;
  ASSERT_TRUE(Start(Options()).ok());
  ASSERT_TRUE(Everything().ok());
  EXPECT_EQ(nccl_.under_way, 0);
  EXPECT_EQ(all_->bytes().calls, 7);
}

TEST_F(NcclWorldTest, APeerThatNeverComesEndsTheWait) {
  nccl_.looks_until_done = -1;
  NcclWorldOptions options = Options();
  options.join_within = std::chrono::milliseconds(30);
  const absl::Status status = Start(std::move(options));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(),
            "rank 1: group 0: ranks [0,1,2]: NCCL has not found all of them within 30 ms; a peer is gone or stuck");
  EXPECT_EQ(nccl_.live, 0);
}

// The job finds out first: the wait ends with its reason, long before the deadline.
TEST_F(NcclWorldTest, AnAbortEndsTheWaitForPeers) {
  nccl_.looks_until_done = -1;
  const absl::Status reason = absl::UnavailableError("rank 2 has left");
  int looks = 0;
  std::thread other;
  nccl_.while_waiting = [&] {
    if (++looks == 2) other = std::thread([&] { world_->Abort(reason); });
  };
  EXPECT_EQ(Start(Options()), reason);
  other.join();
  Drop();
  EXPECT_EQ(nccl_.live, 0);
}

TEST_F(NcclWorldTest, AnErrorWhileJoiningNamesGroupAndRanks) {
  nccl_.background = ncclRemoteError;
  EXPECT_EQ(Start(Options()).message(),
            "rank 1: group 0: ranks [0,1,2]: in the background: remote error (connection closed)");
  EXPECT_EQ(nccl_.live, 0);
}

TEST_F(NcclWorldTest, TheWatchdogLooksByItself) {
  NcclWorldOptions options = Options();
  options.poll_every = std::chrono::milliseconds(1);
  ASSERT_TRUE(Start(std::move(options)).ok());
  nccl_.background = ncclRemoteError;
  while (device_->context().Activate().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(device_->context().Activate().code(), absl::StatusCode::kUnavailable);
}

TEST_F(NcclWorldTest, TwoRanksOnOneGpuAreRefused) {
  third_ = Words("here", "0000:00:00", {});
  EXPECT_EQ(
      NcclWorld::Create(Options()).status().message(),
      "ranks 1 and 2 have the same GPU 0000:00:00 of host here; NCCL needs one for each, or a distinct NCCL_HOSTID "
      "in each process");
}

TEST_F(NcclWorldTest, WhatTheOthersSayIsNotTrusted) {
  third_ = "nonsense";
  EXPECT_EQ(NcclWorld::Create(Options()).status().code(), absl::StatusCode::kUnavailable);
  third_ = Words("there", "0000:01:00", {});
  NcclWorldOptions options = Options();
  options.groups = {{2, 1}};
  EXPECT_EQ(NcclWorld::Create(std::move(options)).status().message(), "rank 2 has no id for group 0");
  exchange_ = absl::UnavailableError("rank 0 is gone");
  EXPECT_EQ(NcclWorld::Create(Options()).status(), exchange_);
}

TEST_F(NcclWorldTest, AnOlderLibraryIsRefused) {
  for (const int version : {NCCL_VERSION_CODE, 21800, 21805, 22999}) {
    nccl_.version = version;
    EXPECT_TRUE(CheckNcclVersion(nccl_.api()).ok()) << version;
  }
  nccl_.version = 21708;
  EXPECT_EQ(
      CheckNcclVersion(nccl_.api()).message(),
      "NCCL 2.17.8 was found; expected 2.18.0 or a newer 2.x (this program was built with the headers of 2.28.9)");
  nccl_.version = 30000;
  EXPECT_FALSE(CheckNcclVersion(nccl_.api()).ok());
}

// The library leaves the environment alone: it reports what NCCL will find there, once.
TEST_F(NcclWorldTest, DeterministicSumsNeedAnEnvironmentWithoutNvls) {
  Log warned, told;
  const auto start = [&](bool deterministic) {
    NcclWorldOptions options;
    options.api = &nccl_.api();
    options.device = device_.get();
    options.ranks = 2;
    options.poll_every = std::chrono::milliseconds(0);
    options.exchange = [](const std::string& own) -> absl::StatusOr<std::vector<std::string>> {
      return std::vector{own, Words("there", "0000:01:00", {})};
    };
    options.deterministic = deterministic;
    options.warn = [&](const std::string& what) { warned.push_back(what); };
    options.tell = [&](const std::string& what) { told.push_back(what); };
    EXPECT_TRUE(NcclWorld::Create(std::move(options)).ok());
  };
  unsetenv("NCCL_ALGO");
  start(false);
  EXPECT_EQ(warned, Log());
  start(true);
  EXPECT_EQ(warned, (Log{"NCCL_ALGO is not set: NCCL may add by NVLS, and sums may have other bits in every run; for "
                         "deterministic sums set NCCL_ALGO=^NVLS,NVLSTree"}));
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
  setenv("NCCL_ALGO", "Ring", 1);
  start(true);
  EXPECT_EQ(warned.size(), 1);
  EXPECT_EQ(told, (Log{"NCCL_ALGO=Ring: NCCL adds in the same order in every run"}));
  unsetenv("NCCL_ALGO");
}

TEST(NcclAlgorithms, ThatExcludeNvlsWhereNcclSums) {
  for (const char* algorithms :
       {"^NVLS,NVLSTree", "^nvlstree,NVLS,collnetdirect", "Ring", "ring,tree", "allreduce:tree;reducescatter:^nvls",
        "ring;broadcast:nvls", "^nvls,nvlstree;allgather:nvls"}) {
    EXPECT_TRUE(ExcludesNvls(algorithms)) << algorithms;
  }
  for (const char* algorithms : {"", "^NVLS", "^NVLSTree", "^Tree", "NVLS", "ring,nvls", "allreduce:ring",
                                 "ring;allreduce:nvlstree", "reducescatter:ring"}) {
    EXPECT_FALSE(ExcludesNvls(algorithms)) << algorithms;
  }
  EXPECT_FALSE(ExcludesNvls(nullptr));
}

// The world may live longer than what the communicators' buffers lie in.
TEST_F(NcclWorldTest, ACommunicatorEndsWhenItIsDestroyed) {
  ASSERT_TRUE(Start(Options()).ok());
  nccl_.looks_until_done = 3;
  all_ = nullptr;
  EXPECT_EQ(nccl_.under_way, 0);
  EXPECT_EQ(nccl_.live, 1);
  pair_ = nullptr;
  EXPECT_EQ(nccl_.log, (Log{"finalize", "destroy", "finalize", "destroy"}));
  EXPECT_EQ(nccl_.live, 0);
  world_->Poll();
  EXPECT_TRUE(stream_->Synchronize().ok());
}

TEST_F(NcclWorldTest, AnEndThatNeverComesIsAborted) {
  NcclWorldOptions options = Options();
  options.join_within = std::chrono::milliseconds(30);
  ASSERT_TRUE(Start(std::move(options)).ok());
  nccl_.looks_until_done = -1;
  all_ = nullptr;
  nccl_.looks_until_done = 0;
  nccl_.background = ncclRemoteError;
  pair_ = nullptr;
  EXPECT_EQ(nccl_.log, (Log{"finalize", "abort", "finalize", "abort"}));
  EXPECT_EQ(nccl_.live, 0);
}

TEST_F(NcclWorldTest, EveryCallMayFail) {
  int64_t failures = 0;
  for (int64_t call = 1;; ++call) {
    nccl_.FailAt(call);
    absl::Status status = Start(Options());
    if (status.ok()) status = Everything();
    Drop();
    EXPECT_EQ(nccl_.live, 0) << "call " << call;
    EXPECT_EQ(FakeNccl::open_groups(), 0) << "call " << call;
    if (!nccl_.failed) break;
    if (status.ok()) continue;  // it was a destruction
    ++failures;
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_NE(std::string(status.message()).find("system error (connection closed)"), std::string::npos) << status;
  }
  EXPECT_GE(failures, 20);
}

}  // namespace
}  // namespace partita
