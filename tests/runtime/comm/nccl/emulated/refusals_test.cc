// What the emulated NCCL refuses: each mistake is made once, and its sentence is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "runtime/comm/nccl/nccl_algorithms.h"
#include "tests/runtime/comm/nccl/emulated/processes.h"
#include "tools/program/start/nccl_variables.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr size_t kCount = 8;

ncclResult_t AllReduce(Rank& rank, float* x, size_t count = kCount) {
  return rank.api.ncclAllReduce(x, x, count, ncclFloat32, ncclSum, rank.comm, rank.stream);
}

// The work of a communicator that has failed ends when it is aborted.
void Abort(Rank& rank) {
  EXPECT_EQ(rank.api.ncclCommAbort(rank.comm), ncclSuccess);
  EXPECT_EQ(rank.cuda.api().cudaStreamSynchronize(rank.stream), cudaSuccess);
}

// Two ranks make different calls; both get the error.
void ExpectToDiffer(const std::function<ncclResult_t(Rank&, float*)>& call, const std::string& sentence) {
  OnProcesses(2, [&](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<float>(64);
    rank.Settled(call(rank, x));
    EXPECT_EQ(rank.Error(), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr(sentence));
    Abort(rank);
  });
}

TEST(RanksDiffer, InCounts) {
  ExpectToDiffer([](Rank& rank, float* x) { return AllReduce(rank, x, rank.rank == 0 ? 7 : 8); },
                 "ranks differ: all_reduce of ");
}

TEST(RanksDiffer, InTypes) {
  ExpectToDiffer(
      [](Rank& rank, float* x) {
        const ncclDataType_t type = rank.rank == 0 ? ncclFloat32 : ncclInt32;
        return rank.api.ncclAllReduce(x, x, kCount, type, ncclSum, rank.comm, rank.stream);
      },
      "all_reduce of 8 i32 (sum), collective 1");
}

TEST(RanksDiffer, InReductions) {
  ExpectToDiffer(
      [](Rank& rank, float* x) {
        const ncclRedOp_t reduction = rank.rank == 0 ? ncclMax : ncclSum;
        return rank.api.ncclReduceScatter(x, x + 32, kCount, ncclFloat32, reduction, rank.comm, rank.stream);
      },
      "reduce_scatter of 8 f32 (max)");
}

TEST(RanksDiffer, InRoots) {
  ExpectToDiffer(
      [](Rank& rank, float* x) {
        return rank.api.ncclBroadcast(x, x, kCount, ncclFloat32, rank.rank, rank.comm, rank.stream);
      },
      "broadcast of 8 f32 from rank 1");
}

TEST(RanksDiffer, InOrder) {
  ExpectToDiffer(
      [](Rank& rank, float* x) {
        if (rank.rank == 0) return AllReduce(rank, x);
        return rank.api.ncclAllGather(x, x + 32, kCount, ncclFloat32, rank.comm, rank.stream);
      },
      "all_gather of 8 f32, collective 1");
}

// An empty collective moves nothing and waits for nobody; that the others did something else shows at the next one.
TEST(RanksDiffer, InWhatIsEmpty) {
  ExpectToDiffer(
      [](Rank& rank, float* x) {
        if (rank.rank == 0) rank.Ran(AllReduce(rank, x, 0));
        return AllReduce(rank, x);
      },
      "all_reduce of 8 f32 (sum), collective 2");
}

TEST(RanksDiffer, AtTheEnd) {
  ExpectToDiffer(
      [](Rank& rank, float* x) { return rank.rank == 0 ? AllReduce(rank, x) : rank.api.ncclCommFinalize(rank.comm); },
      "the end of the communicator, collective 1");
}

// The receiver gets the error; the sender has finished.
TEST(RanksDiffer, InTransfers) {
  OnProcesses(2, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<float>(kCount);
    if (rank.rank == 0) {
      EXPECT_EQ(rank.Ran(rank.api.ncclSend(x, 7, ncclFloat32, 1, rank.comm, rank.stream)), ncclSuccess);
    } else {
      rank.Settled(rank.api.ncclRecv(x, 8, ncclFloat32, 0, rank.comm, rank.stream));
      EXPECT_EQ(rank.Error(), ncclInvalidUsage);
      EXPECT_THAT(rank.Last(), HasSubstr("receive of 8 f32 from rank 0 on rank 1; what comes from rank 0 is for "
                                         "receive of 7 f32"));
    }
    Abort(rank);
  });
}

TEST(Peers, OneThatIsGoneIsAnError) {
  OnProcesses(3, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    if (rank.rank == 1) _exit(0);
    rank.Settled(AllReduce(rank, rank.New<float>(kCount)));
    EXPECT_EQ(rank.Error(), ncclRemoteError);
    // A survivor may first find the other one, which has aborted by then.
    EXPECT_THAT(rank.Last(), testing::ContainsRegex("rank [012] has closed its connection"));
    EXPECT_TRUE(rank.nccl.reports().empty()) << "nobody's mistake";
    Abort(rank);
  });
}

// Rank 1 comes when rank 0 has given up: neither hangs.
TEST(Peers, AnAbortEndsTheWaitForThem) {
  int given_up[2];
  ASSERT_EQ(pipe(given_up), 0);
  OnProcesses(2, [&](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    char word = 0;
    if (rank.rank == 0) {
      EXPECT_EQ(rank.Settled(AllReduce(rank, rank.New<float>(kCount))), ncclSuccess);
      std::thread([&] { EXPECT_EQ(rank.api.ncclCommAbort(rank.comm), ncclSuccess); }).join();
      EXPECT_EQ(rank.cuda.api().cudaStreamSynchronize(rank.stream), cudaSuccess);
      EXPECT_EQ(write(given_up[1], &word, 1), 1);
    } else {
      ASSERT_EQ(read(given_up[0], &word, 1), 1);
      rank.Settled(AllReduce(rank, rank.New<float>(kCount)));
      EXPECT_EQ(rank.Error(), ncclRemoteError);
      Abort(rank);
    }
  });
}

TEST(Peers, AnAbortEndsTheWaitInTheJoin) {
  OnProcesses(1, [](Rank& rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    EXPECT_EQ(rank.api.ncclCommInitRankConfig(&rank.comm, 2, rank.id, 0, &config), ncclInProgress);
    EXPECT_EQ(AllReduce(rank, rank.New<float>(kCount)), ncclInvalidArgument);
    EXPECT_THAT(rank.Last(), HasSubstr("ncclAllReduce was called while the call before it is in progress"));
    EXPECT_EQ(rank.api.ncclCommAbort(rank.comm), ncclSuccess);
  });
}

TEST(Joining, TwoRanksOnOneGpuNeedHosts) {
  for (const bool apart : {false, true}) {
    OnProcesses(2, [&](Rank& rank) {
      rank.cuda.api().cudaSetDevice(0);
      if (apart) setenv("NCCL_HOSTID", rank.rank == 0 ? "a" : "b", 1);
      EXPECT_EQ(rank.Join(), apart ? ncclSuccess : ncclInvalidUsage);
      if (!apart) {
        EXPECT_THAT(rank.Last(), HasSubstr("Duplicate GPU detected: rank 0 and rank 1 both on CUDA device 0"));
      }
      Abort(rank);
    });
  }
}

TEST(Joining, VersionsAreTheSame) {
  OnProcesses(2, [&](Rank& rank) {
    EXPECT_TRUE(CheckNcclVersion(rank.api).ok());
    if (rank.rank == 1) rank.nccl.set_version(21805);
    EXPECT_EQ(rank.Join(), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr(rank.rank == 0 ? "rank 1 has version 21805 of NCCL, this one 22809"
                                                      : "rank 0 has version 22809 of NCCL, this one 21805"));
    Abort(rank);
  });
}

TEST(Joining, OfOneThreadInAGroup) {
  OnProcesses(1, [](Rank& rank) {
    rank.cuda.devices = 2;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    ncclComm_t other = nullptr;
    ASSERT_EQ(rank.api.ncclGroupStart(), ncclSuccess);
    rank.cuda.api().cudaSetDevice(0);
    EXPECT_EQ(rank.api.ncclCommInitRankConfig(&rank.comm, 2, rank.id, 0, &config), ncclSuccess);
    rank.cuda.api().cudaSetDevice(1);
    EXPECT_EQ(rank.api.ncclCommInitRankConfig(&other, 2, rank.id, 1, &config), ncclSuccess);
    EXPECT_EQ(rank.api.ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(rank.api.ncclCommAbort(rank.comm), ncclSuccess);
    EXPECT_EQ(rank.api.ncclCommAbort(other), ncclSuccess);
  });
}

// What the programs set for deterministic sums is there when NCCL reads it, and what the user has set stays.
TEST(Joining, ReadsTheAlgorithms) {
  for (const char* users : {"", "Ring"}) {
    OnProcesses(1, [&](Rank& rank) {
      unsetenv("NCCL_ALGO");
      if (*users != '\0') setenv("NCCL_ALGO", users, 1);
      ExcludeNvls();
      EXPECT_EQ(rank.Join(), ncclSuccess);
      unsetenv("NCCL_ALGO");
      EXPECT_EQ(rank.nccl.algo(), *users == '\0' ? "^NVLS,NVLSTree" : users);
      EXPECT_TRUE(ExcludesNvls(rank.nccl.algo()->c_str()));
      EXPECT_EQ(rank.api.ncclCommAbort(rank.comm), ncclSuccess);
    });
  }
}

TEST(Joining, IsRefused) {
  OnProcesses(1, [](Rank& rank) {
    ncclConfig_t config = {};
    EXPECT_EQ(rank.api.ncclCommInitRankConfig(&rank.comm, 1, rank.id, 0, &config), ncclInvalidArgument);
    EXPECT_THAT(rank.Last(), HasSubstr("NCCL_CONFIG_INITIALIZER"));
    EXPECT_EQ(rank.Join(1, 1), ncclInvalidArgument);
    EXPECT_EQ(rank.Join(), ncclSuccess);
    const ncclComm_t first = rank.comm;
    EXPECT_EQ(rank.Join(), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr("rank 0 uses a unique id again"));
    EXPECT_EQ(rank.api.ncclCommAbort(first), ncclSuccess);
  });
  OnProcesses(2, [](Rank& rank) {
    EXPECT_EQ(rank.Join(rank.rank, rank.rank == 0 ? 2 : 3), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr("rank 1 of 3"));
    Abort(rank);
  });
}

TEST(Calls, AreRefused) {
  OnProcesses(1, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<float>(64);
    float on_host[kCount] = {};
    const NcclApi& api = rank.api;
    const auto refused = [&](ncclResult_t result, const std::string& sentence) {
      EXPECT_EQ(result, ncclInvalidArgument);
      EXPECT_THAT(rank.Last(), HasSubstr(sentence));
    };
    refused(AllReduce(rank, on_host), "are not memory of the device");
    refused(AllReduce(rank, x + 60), "are not memory of the device");
    refused(api.ncclAllReduce(x, x + 1, 8, ncclFloat32, ncclSum, rank.comm, rank.stream), "other than in place");
    refused(api.ncclAllGather(x + 1, x, 8, ncclFloat32, rank.comm, rank.stream), "other than in place");
    refused(api.ncclReduceScatter(x, x + 7, 8, ncclFloat32, ncclSum, rank.comm, rank.stream), "other than in place");
    refused(api.ncclAllReduce(x, x, 8, ncclFloat16, ncclSum, rank.comm, rank.stream), "type 6 is not emulated");
    refused(api.ncclAllReduce(x, x, 8, ncclFloat32, ncclProd, rank.comm, rank.stream), "reduction 1 is not emulated");
    refused(api.ncclBroadcast(x, x, 8, ncclFloat32, 1, rank.comm, rank.stream), "root 1 is none of the 1 ranks");
    EXPECT_EQ(api.ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(api.ncclBroadcast(x, x, 8, ncclFloat32, 0, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(api.ncclBroadcast(x + 4, x + 4, 8, ncclFloat32, 0, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(api.ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr("in one group broadcast of 8 f32 from rank 0 writes what"));
    EXPECT_EQ(api.ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_EQ(rank.Ran(AllReduce(rank, x)), ncclSuccess) << "what was refused leaves no trace";
    EXPECT_EQ(rank.Finalize(), ncclSuccess);
    EXPECT_EQ(AllReduce(rank, x), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr("after ncclCommFinalize"));
    EXPECT_EQ(api.ncclCommDestroy(rank.comm), ncclSuccess);
    refused(AllReduce(rank, x), "the communicator has ended: ncclCommDestroy was called");
    refused(api.ncclCommAbort(rank.comm), "the communicator has ended: ncclCommDestroy was called");
  });
}

TEST(Memory, IsThereWhenTheWorkRuns) {
  OnProcesses(1, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<float>(kCount);
    rank.Capture([&] { EXPECT_EQ(rank.Settled(AllReduce(rank, x)), ncclSuccess); });
    rank.Free(x);
    rank.Launch();
    EXPECT_EQ(rank.Error(), ncclUnhandledCudaError);
    EXPECT_THAT(rank.Last(), HasSubstr("all_reduce of 8 f32 (sum): its memory was freed before the work ran"));
    EXPECT_EQ(rank.api.ncclGroupStart(), ncclSuccess);
    Abort(rank);
    rank.DropCapture();
    EXPECT_EQ(rank.api.ncclGroupEnd(), ncclSuccess);
  });
}

// Destroying a communicator that is not finalized only begins its end.
TEST(Memory, OfGraphsIsThereUntilTheCommunicatorHasEnded) {
  for (const bool finalized : {false, true}) {
    OnProcesses(2, [&](Rank& rank) {
      ASSERT_EQ(rank.Join(), ncclSuccess);
      auto* const x = rank.New<float>(kCount);
      rank.Capture([&] { EXPECT_EQ(rank.Settled(AllReduce(rank, x)), ncclSuccess); });
      rank.Replay();
      rank.DropCapture();
      if (finalized) {
        EXPECT_EQ(rank.Finalize(), ncclSuccess);
      }
      EXPECT_EQ(rank.api.ncclCommDestroy(rank.comm), ncclSuccess);
      rank.Free(x);
      rank.nccl.AwaitEnds();
      EXPECT_EQ(rank.nccl.reports().empty(), finalized);
      if (!finalized) {
        EXPECT_THAT(rank.Last(), HasSubstr("was freed before the communicator had ended"));
      }
    });
  }
}

TEST(Ends, OfAFailedCommunicatorAreAborts) {
  OnProcesses(2, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    if (rank.rank == 1) _exit(0);
    rank.Settled(AllReduce(rank, rank.New<float>(kCount)));
    EXPECT_EQ(rank.Error(), ncclRemoteError);
    EXPECT_EQ(rank.api.ncclCommDestroy(rank.comm), ncclInvalidUsage);
    EXPECT_THAT(rank.Last(), HasSubstr("expected ncclCommAbort"));
  });
}

// NCCL's abort ends when no graph holds the communicator; outside of a group the call itself waits for that.
TEST(Ends, WaitForGraphs) {
  OnProcesses(1, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<float>(kCount);
    rank.Capture([&] { EXPECT_EQ(rank.Settled(AllReduce(rank, x)), ncclSuccess); });
    EXPECT_EQ(rank.api.ncclCommFinalize(rank.comm), ncclInProgress);
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(rank.api.ncclCommGetAsyncError(rank.comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInProgress);
    rank.DropCapture();
    EXPECT_EQ(rank.Settled(ncclInProgress), ncclSuccess);
    EXPECT_EQ(rank.api.ncclCommDestroy(rank.comm), ncclSuccess);
  });
}

TEST(Ends, ThatNeverComeAreReported) {
  const FakeCuda cuda;
  ncclUniqueId id;
  testing::internal::CaptureStderr();
  {
    const EmulatedNccl nccl(cuda);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(nccl.api().ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_EQ(nccl.api().ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("communicator 1 (rank 0 of 1): was neither destroyed nor aborted"));
}

}  // namespace
}  // namespace partita
