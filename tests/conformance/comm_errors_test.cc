// What collectives say when ranks do not fit together, fail, or ask for what cannot be. Nothing of it hangs.
#include <cmath>

#include "tests/conformance/comm_fixture.h"

namespace partita {
namespace {

class CommErrorsTest : public CommTest {
 protected:
  static constexpr DType kType = DType::kF32;

  // Rank 0 enqueues `odd`, the others `even`, all after one good call. All get one error that names group, ranks,
  // sequence number and the words given.
  void ExpectMismatch(const std::function<absl::Status(int)>& odd, const std::function<absl::Status(int)>& even,
                      const std::vector<std::string>& words) {
    const std::unique_ptr<CommRanks> ranks = backend().CreateRanks(p(), kGroup);
    now_ = ranks.get();
    for (int r = 0; r < p(); ++r) {
      ASSERT_OK(now_->communicator(r).AllReduce(b_[r], b_[r], Reduction::kSum, now_->stream(r)));
      ASSERT_OK(r == 0 ? odd(r) : even(r));
    }
    for (int r = 0; r < p(); ++r) {
      absl::Status status = now_->stream(r).Synchronize();
      // Where data travels, a rank may have got all it wants before the others are found not to fit.
      if (status.ok() && !backend().knows_who_waits()) {
        ASSERT_OK(now_->communicator(r).AllReduce(b_[r], b_[r], Reduction::kSum, now_->stream(r)));
        status = now_->stream(r).Synchronize();
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << "rank " << r;
      for (const std::string& word : words) {
        EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << word << " in " << status;
      }
      for (const char* word : {"group 7", "rank 0 calls", "(sequence number 2)"}) {
        EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << word << " in " << status;
      }
    }
  }

  Communicator& c(int rank) { return now_->communicator(rank); }
  Stream& s(int rank) { return now_->stream(rank); }

  void SetUp() override {
    for (int r = 0; r < p(); ++r) {
      a_.push_back(NewBuffer(r, 20, kType));
      b_.push_back(NewBuffer(r, 20, kType));
    }
  }

  CommRanks* now_ = nullptr;
  std::vector<Buffer> a_, b_;
};

TEST_P(CommErrorsTest, RanksThatDoDifferentThings) {
  if (p() < 2) return;
  const auto sum = [&](int r) { return c(r).AllReduce(a_[r], b_[r], Reduction::kSum, s(r)); };
  const auto max = [&](int r) { return c(r).AllReduce(a_[r], b_[r], Reduction::kMax, s(r)); };
  const auto less = [&](int r) { return c(r).AllReduce(Part(a_[r], 0, 9), Part(b_[r], 0, 9), Reduction::kSum, s(r)); };
  const auto i32 = [&](int r) {
    return c(r).AllReduce(Buffer{a_[r].data, 20, DType::kI32}, Buffer{b_[r].data, 20, DType::kI32}, Reduction::kSum,
                          s(r));
  };
  const auto broadcast = [&](int root) {
    return [this, root](int r) { return c(r).Broadcast(a_[r], b_[r], root, s(r)); };
  };
  const auto gather = [&](int64_t first) {
    Counts counts(p(), 1);
    counts[p() - 1] = first;
    return [this, counts](int r) {
      return c(r).AllGather(Part(a_[r], 0, counts[r]), Part(b_[r], 0, Total(counts)), counts, s(r));
    };
  };
  const auto exchange = [&](int64_t count) {  // all ranks send `count` elements to all
    return [this, count](int r) {
      const Counts counts(p(), count);
      return c(r).AllToAll(Part(a_[r], 0, Total(counts)), counts, Part(b_[r], 0, Total(counts)), counts, s(r));
    };
  };
  ExpectMismatch(sum, max, {"different reductions", "all_reduce of 20 f32 (sum)", "all_reduce of 20 f32 (max)"});
  ExpectMismatch(less, sum, {"different counts", "all_reduce of 9 f32", "all_reduce of 20 f32"});
  ExpectMismatch(i32, sum, {"different types", "20 i32", "20 f32"});
  ExpectMismatch(broadcast(0), broadcast(1), {"different roots", "broadcast of 20 f32 from 0", "from 1"});
  ExpectMismatch(sum, broadcast(0), {"different operations", "all_reduce", "broadcast"});
  ExpectMismatch(gather(2), gather(3), {"different counts", "all_gather of [1,"});
  ExpectMismatch(exchange(1), exchange(2), {"one sends what the other does not receive", "all_to_all of [1,1"});
  if (backend().moves_blocks()) {
    const auto blocks = [&](int64_t height, int64_t width) {
      return [this, height, width](int r) {
        std::vector<StridedBlock> to(p()), from(p());
        for (int peer = 0; peer < p(); ++peer)
          to[peer] = from[peer] = {0, {{r == peer ? 0 : height, width}, {width, 1}}};
        return c(r).AllToAllBlocks(a_[r], to, b_[r], from, s(r));
      };
    };
    ExpectMismatch(blocks(2, 3), blocks(3, 2), {"blocks of different shapes", "all_to_all"});
    ExpectMismatch(blocks(2, 3), blocks(2, 2), {"one sends what the other does not receive", "all_to_all"});
  }
  ExpectMismatch(exchange(1), sum, {"different operations", "all_to_all of [1,1", "all_reduce"});
  ExpectMismatch(sum, exchange(1), {"different operations", "all_to_all of [1,1", "all_reduce"});
}

// One rank never comes. After the abort every rank has the status, for what it waits for and for all that follows.
TEST_P(CommErrorsTest, AnAbortWakesEveryone) {
  if (p() < 2) return;
  const absl::Status lost = absl::UnavailableError("rank 1 has failed");
  for (bool exchanges : {false, true}) {
    const std::unique_ptr<CommRanks> ranks = backend().CreateRanks(p(), kGroup);
    now_ = ranks.get();
    for (int r = 0; r + 1 < p(); ++r) {
      const Counts counts(p(), 1);
      ASSERT_OK(exchanges ? c(r).AllToAll(Part(a_[r], 0, p()), counts, Part(b_[r], 0, p()), counts, s(r))
                          : c(r).AllReduce(a_[r], b_[r], Reduction::kSum, s(r)));
    }
    std::this_thread::sleep_for(kSlow);
    now_->Abort(lost);
    now_->Abort(absl::InternalError("a later one"));
    for (int r = 0; r + 1 < p(); ++r) EXPECT_EQ(s(r).Synchronize(), lost);
    for (int r = 0; r < p(); ++r) {
      ASSERT_OK(c(r).Broadcast(a_[r], b_[r], 0, s(r)));
      EXPECT_EQ(s(r).Synchronize(), lost);
    }
  }
}

// Aborts at any time of collectives that copy in parallel: a rank that returns frees its memory at once, which no peer
// may touch any more (a use after free for the address sanitizer).
TEST_P(CommErrorsTest, AnAbortLeavesNoPeerInOurMemory) {
  if (p() < 2) return;
  constexpr int64_t n = 60000;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::unique_ptr<CommRanks> ranks = backend().CreateRanks(p(), kGroup);
    now_ = ranks.get();
    std::vector<std::unique_ptr<Arena>> memory;
    for (int r = 0; r < p(); ++r) memory.push_back(*now_->device(r).Allocate(n * 4));
    for (int call = 0; call < 40; ++call) {
      for (int r = 0; r < p(); ++r) {
        const Buffer x{memory[r]->data(), n, kType};
        const Counts counts(p(), n / 2 / p());
        if (call % 2 == 1) ASSERT_OK(c(r).AllToAll(Part(x, 0, n / 2), counts, Part(x, n / 2, n / 2), counts, s(r)));
        ASSERT_OK(c(r).AllReduce(x, x, Reduction::kMax, s(r)));
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(attempt * 150));
    std::thread abort([&] { now_->Abort(absl::UnavailableError("stop")); });
    for (int r = 0; r < p(); ++r) {
      const absl::Status status = s(r).Synchronize();
      // A rank may see its peer's connection close before it is aborted itself.
      EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
      memory[r] = nullptr;
    }
    abort.join();
  }
}

TEST_P(CommErrorsTest, AMismatchInAReplayEndsIt) {
  if (p() < 2) return;
  std::vector<std::unique_ptr<CapturedStep>> steps;
  for (int r = 0; r < p(); ++r) {
    Stream* const streams[] = {&stream(r)};
    ASSERT_OK(ranks_->device(r).BeginCapture(streams));
    EXPECT_OK(comm(r).AllReduce(a_[r], b_[r], Reduction::kSum, stream(r)));
    EXPECT_OK(comm(r).Broadcast(a_[r], b_[r], r == 1 ? 1 : 0, stream(r)));
    EXPECT_OK(comm(r).AllReduce(a_[r], b_[r], Reduction::kSum, stream(r)));
    steps.push_back(*ranks_->device(r).EndCapture());
  }
  for (const auto& step : steps) ASSERT_OK(step->Launch());
  for (const auto& step : steps) EXPECT_EQ(step->Wait().code(), absl::StatusCode::kInternal);
}

TEST_P(CommErrorsTest, RefusesWrongArguments) {
  now_ = ranks_.get();
  const Buffer a = a_[0], b = b_[0], u8{a.data, 20, DType::kU8}, i32{b.data, 20, DType::kI32};
  const Counts fits(p(), 1), negative(p(), -1), too_many(p() + 1, 1);
  Counts mine = fits;
  const auto refused = [](const absl::Status& status) { return status.code() == absl::StatusCode::kInvalidArgument; };
  EXPECT_TRUE(refused(c(0).AllReduce(a, i32, Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).AllReduce(u8, u8, Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).AllReduce(a, Part(b, 0, 19), Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).AllReduce(Buffer{nullptr, 20, kType}, b, Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).AllReduce(Buffer{a.data, -1, kType}, b, Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).AllGather(Part(a, 0, 1), Part(b, 0, p()), too_many, s(0))));
  EXPECT_TRUE(refused(c(0).AllGather(Part(a, 0, 1), Part(b, 0, p()), negative, s(0))));
  EXPECT_TRUE(refused(c(0).AllGather(Part(a, 0, 2), Part(b, 0, p()), fits, s(0))));
  EXPECT_TRUE(refused(c(0).AllGather(Part(a, 0, 1), Part(b, 0, p() + 1), fits, s(0))));
  EXPECT_TRUE(refused(c(0).ReduceScatter(Part(a, 0, p()), Part(b, 0, 2), fits, Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).Broadcast(a, b, p(), s(0))));
  EXPECT_TRUE(refused(c(0).Broadcast(a, b, -1, s(0))));
  EXPECT_TRUE(refused(c(0).Broadcast(Part(a, 0, 3), b, 0, s(0))));
  EXPECT_TRUE(refused(c(0).Reduce(a, Part(b, 0, 3), 0, Reduction::kSum, s(0))));
  EXPECT_TRUE(refused(c(0).Reduce(u8, u8, 0, Reduction::kSum, s(0))));
  mine[0] = 2;
  EXPECT_TRUE(refused(c(0).AllToAll(Part(a, 0, p()), fits, Part(b, 0, p() + 1), mine, s(0))));
  if (backend().moves_blocks()) {
    std::vector<StridedBlock> none(p()), outside(p()), negative_size(p()), too_few(p() + 1);
    outside[0] = {18, {{3, 1}}};
    negative_size[0] = {0, {{-1, 1}}};
    EXPECT_TRUE(refused(c(0).AllToAllBlocks(a, outside, b, outside, s(0))));
    EXPECT_TRUE(refused(c(0).AllToAllBlocks(a, negative_size, b, negative_size, s(0))));
    EXPECT_TRUE(refused(c(0).AllToAllBlocks(a, too_few, b, none, s(0))));
    EXPECT_TRUE(refused(c(0).AllToAllBlocks(u8, none, b, none, s(0))));
    std::vector<StridedBlock> row(p()), column(p());
    row[0] = {0, {{1, 1}, {3, 1}}};
    column[0] = {0, {{3, 1}, {1, 1}}};
    EXPECT_TRUE(refused(c(0).AllToAllBlocks(a, row, b, column, s(0)))) << "to itself";
  }
  const StridedBlock nothing = {0, {{0, 1}}};
  EXPECT_TRUE(refused(c(0).Enqueue({.kind = CollectiveKind::kAllReduce, .counts = fits}, a, b, s(0))));
  EXPECT_TRUE(refused(c(0).Enqueue({.kind = CollectiveKind::kBroadcast, .sent = {nothing}}, a, b, s(0))));
  EXPECT_TRUE(refused(c(0).Enqueue({.kind = CollectiveKind::kAllGather, .counts = fits, .receive_counts = fits},
                                   Part(a, 0, 1), Part(b, 0, p()), s(0))));
  EXPECT_OK(Synchronize(0));
  EXPECT_EQ(comm(0).bytes().calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, CommErrorsTest,
                         testing::Combine(testing::ValuesIn(CommBackends()), testing::Values(1, 2, 3, 5)),
                         CommCaseName);

}  // namespace
}  // namespace partita
