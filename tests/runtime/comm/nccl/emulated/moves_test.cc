// What the emulated NCCL moves and computes among processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/base/bf16.h"
#include "tests/runtime/comm/nccl/emulated/processes.h"

namespace partita {
namespace {

// More than a part that is reduced at a time, and more than a socket holds.
constexpr size_t kCounts[] = {0, 1, 7, 100'003};

template <typename T>
T Value(int rank, size_t i) {
  return static_cast<T>(static_cast<int>((static_cast<size_t>(rank) * 7 + i * 3 + i / 11) % 11));
}

template <typename T>
void Fill(T* data, int rank, size_t count, size_t first = 0) {
  for (size_t i = 0; i < count; ++i) data[i] = Value<T>(rank, first + i);
}

// Element i of the reduction of all ranks.
double Expected(ncclRedOp_t reduction, int ranks, size_t i) {
  double value = Value<double>(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = Value<double>(rank, i);
    value = reduction == ncclSum ? value + next : std::max(value, next);
  }
  return value;
}

template <typename T>
bool Is(const T* data, size_t count, const std::function<double(size_t)>& expected) {
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<double>(data[i]) != expected(i)) return false;
  }
  return true;
}

template <typename T>
void ReduceEverything(Rank& rank, ncclDataType_t type) {
  const auto ranks = static_cast<size_t>(rank.ranks);
  for (const size_t count : kCounts) {
    for (const ncclRedOp_t reduction : {ncclSum, ncclMax}) {
      const auto all = [&](size_t i) { return Expected(reduction, rank.ranks, i); };
      const auto own = [&](size_t i) { return all(static_cast<size_t>(rank.rank) * count + i); };
      T* const in = rank.New<T>(ranks * count);
      T* const out = rank.New<T>(count);
      Fill(in, rank.rank, ranks * count);
      EXPECT_EQ(rank.Ran(rank.api.ncclAllReduce(in, out, count, type, reduction, rank.comm, rank.stream)), ncclSuccess);
      EXPECT_TRUE(Is(out, count, all)) << count;
      const int root = rank.ranks - 1;
      std::fill_n(out, count, T(0));
      EXPECT_EQ(rank.Ran(rank.api.ncclReduce(in, out, count, type, reduction, root, rank.comm, rank.stream)),
                ncclSuccess);
      EXPECT_TRUE(Is(out, count, [&](size_t i) { return rank.rank == root ? all(i) : 0; })) << count;
      EXPECT_EQ(rank.Ran(rank.api.ncclReduceScatter(in, out, count, type, reduction, rank.comm, rank.stream)),
                ncclSuccess);
      EXPECT_TRUE(Is(out, count, own)) << count;
      T* const place = in + static_cast<size_t>(rank.rank) * count;
      EXPECT_EQ(rank.Ran(rank.api.ncclReduceScatter(in, place, count, type, reduction, rank.comm, rank.stream)),
                ncclSuccess);
      EXPECT_TRUE(Is(place, count, own)) << count;
      Fill(in, rank.rank, count);
      EXPECT_EQ(rank.Ran(rank.api.ncclAllReduce(in, in, count, type, reduction, rank.comm, rank.stream)), ncclSuccess);
      EXPECT_TRUE(Is(in, count, all)) << count;
      rank.Free(in);
      rank.Free(out);
    }
  }
}

void End(Rank& rank) {
  EXPECT_EQ(rank.Finalize(), ncclSuccess);
  EXPECT_EQ(rank.api.ncclCommDestroy(rank.comm), ncclSuccess);
  EXPECT_TRUE(rank.nccl.reports().empty());
}

class Moves : public testing::TestWithParam<int> {};

TEST_P(Moves, Reductions) {
  OnProcesses(GetParam(), [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    ReduceEverything<float>(rank, ncclFloat32);
    ReduceEverything<double>(rank, ncclFloat64);
    ReduceEverything<int32_t>(rank, ncclInt32);
    ReduceEverything<uint8_t>(rank, ncclUint8);
    ReduceEverything<Bf16>(rank, ncclBfloat16);
    End(rank);
  });
}

TEST_P(Moves, GathersAndBroadcasts) {
  OnProcesses(GetParam(), [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    const auto own = static_cast<size_t>(rank.rank), ranks = static_cast<size_t>(rank.ranks);
    for (const size_t count : kCounts) {
      auto* const in = rank.New<int32_t>(count);
      auto* const out = rank.New<int32_t>(ranks * count);
      const auto blocks = [&](size_t i) { return Value<double>(static_cast<int>(i / count), i % count); };
      Fill(in, rank.rank, count);
      EXPECT_EQ(rank.Ran(rank.api.ncclAllGather(in, out, count, ncclInt32, rank.comm, rank.stream)), ncclSuccess);
      EXPECT_TRUE(Is(out, ranks * count, blocks));
      std::fill_n(out, ranks * count, -1);
      Fill(out + own * count, rank.rank, count);
      EXPECT_EQ(rank.Ran(rank.api.ncclAllGather(out + own * count, out, count, ncclInt32, rank.comm, rank.stream)),
                ncclSuccess);
      EXPECT_TRUE(Is(out, ranks * count, blocks));
      for (int root = 0; root < rank.ranks; ++root) {
        const auto values = [&](size_t i) { return Value<double>(root, i); };
        Fill(in, rank.rank, count);
        EXPECT_EQ(rank.Ran(rank.api.ncclBroadcast(in, out, count, ncclInt32, root, rank.comm, rank.stream)),
                  ncclSuccess);
        EXPECT_TRUE(Is(out, count, values));
        EXPECT_EQ(rank.Ran(rank.api.ncclBroadcast(in, in, count, ncclInt32, root, rank.comm, rank.stream)),
                  ncclSuccess);
        EXPECT_TRUE(Is(in, count, values));
      }
    }
    End(rank);
  });
}

// Everybody sends to everybody, also to itself, more than sockets hold, in one group.
TEST_P(Moves, GroupsOfTransfers) {
  OnProcesses(GetParam(), [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    for (const size_t count : kCounts) {
      std::vector<float*> in, out;
      ASSERT_EQ(rank.api.ncclGroupStart(), ncclSuccess);
      for (int peer = 0; peer < rank.ranks; ++peer) {
        const size_t sent = count + static_cast<size_t>(peer), received = count + static_cast<size_t>(rank.rank);
        in.push_back(rank.New<float>(sent));
        out.push_back(rank.New<float>(received));
        Fill(in[peer], rank.rank, sent, static_cast<size_t>(peer));
        EXPECT_EQ(rank.api.ncclSend(in[peer], sent, ncclFloat32, peer, rank.comm, rank.stream), ncclSuccess);
        EXPECT_EQ(rank.api.ncclRecv(out[peer], received, ncclFloat32, peer, rank.comm, rank.stream), ncclSuccess);
      }
      EXPECT_EQ(rank.Ran(rank.api.ncclGroupEnd()), ncclSuccess);
      for (int peer = 0; peer < rank.ranks; ++peer) {
        const auto own = static_cast<size_t>(rank.rank);
        EXPECT_TRUE(Is(out[peer], count + own, [&](size_t i) { return Value<double>(peer, own + i); })) << peer;
      }
    }
    End(rank);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Moves, testing::Values(1, 2, 3));

// 256 + 1 + 1: summed in bf16 each 1 is lost; in f32 it is 258.
TEST(Bf16, IsSummedInF32AndRoundedOnce) {
  OnProcesses(3, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<Bf16>(1);
    *x = Bf16(rank.rank == 0 ? 256 : 1);
    EXPECT_EQ(rank.Ran(rank.api.ncclAllReduce(x, x, 1, ncclBfloat16, ncclSum, rank.comm, rank.stream)), ncclSuccess);
    EXPECT_EQ(static_cast<float>(*x), 258);
    End(rank);
  });
}

// A captured collective runs at each replay, with what its buffers hold then.
TEST(Captured, RunsAtEachReplay) {
  OnProcesses(2, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const x = rank.New<float>(1);
    *x = 1;
    rank.Capture([&] {
      EXPECT_EQ(rank.Settled(rank.api.ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, rank.comm, rank.stream)),
                ncclSuccess);
    });
    EXPECT_EQ(*x, 1);
    rank.Replay();
    EXPECT_EQ(*x, 2);
    rank.Replay();
    EXPECT_EQ(*x, 4);
    rank.DropCapture();
    End(rank);
  });
}

// Several reductions in one group are Partita's reduce_scatter of uneven blocks.
TEST(Groups, HoldCollectives) {
  OnProcesses(2, [](Rank& rank) {
    ASSERT_EQ(rank.Join(), ncclSuccess);
    auto* const in = rank.New<float>(8);
    auto* const out = rank.New<float>(5);
    Fill(in, rank.rank, 8);
    ASSERT_EQ(rank.api.ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(rank.api.ncclReduce(in, out, 5, ncclFloat32, ncclSum, 0, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(rank.api.ncclReduce(in + 5, out, 3, ncclFloat32, ncclSum, 1, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(rank.Ran(rank.api.ncclGroupEnd()), ncclSuccess);
    const size_t first = rank.rank == 0 ? 0 : 5;
    EXPECT_TRUE(Is(out, rank.rank == 0 ? 5 : 3, [&](size_t i) { return Expected(ncclSum, 2, first + i); }));
    End(rank);
  });
}

}  // namespace
}  // namespace partita
