// Every collective, on every number of ranks, with even, uneven and empty blocks: exact values and exact bytes.
#include <cmath>
#include <limits>
#include <random>

#include "runtime/base/bf16.h"
#include "tests/conformance/comm_fixture.h"
#include "tests/conformance/cuda_backend.h"

namespace partita {
namespace {

class CollectivesTest : public CommTest {
 protected:
  // For every case of counts and each of the types; `body` says what must come out.
  void ForCases(std::span<const DType> dtypes, const std::function<void(const Counts&, DType)>& body) {
    for (const Counts& counts : CountCases(p())) {
      for (DType dtype : dtypes) {
        SCOPED_TRACE(testing::Message() << "counts " << testing::PrintToString(counts) << " " << Name(dtype));
        body(counts, dtype);
        arenas_.clear();
        if (HasFatalFailure()) return;
      }
    }
  }

  absl::Status Sleep(Stream& stream) { return backend().device_backend().Enqueue(stream, sleep_); }

  std::function<absl::Status()> sleep_ = [] {
    std::this_thread::sleep_for(kSlow);
    return absl::OkStatus();
  };
};

TEST_P(CollectivesTest, AllReduce) {
  ForCases(kReducible, [&](const Counts& counts, DType dtype) {
    const int64_t n = Total(counts);
    for (Reduction reduction : kReductions) {
      for (bool in_place : {false, true}) {
        std::vector<Buffer> in, out;
        for (int rank = 0; rank < p(); ++rank) {
          in.push_back(NewBuffer(rank, Input(rank, n, dtype), dtype));
          out.push_back(in_place ? in.back() : NewBuffer(rank, n, dtype));
        }
        OnRanks([&](int r) { return comm(r).AllReduce(in[r], out[r], reduction, stream(r)); });
        for (const Buffer& buffer : out) EXPECT_EQ(Read(buffer), Reduced(reduction, p(), n, dtype));
        ExpectBytes(n * SizeOf(dtype), 2 * (p() - 1) * n * SizeOf(dtype));
      }
    }
  });
}

TEST_P(CollectivesTest, AllGather) {
  ForCases(kAll, [&](const Counts& counts, DType dtype) {
    const int64_t n = Total(counts);
    for (bool in_place : {false, true}) {
      std::vector<Buffer> in, out;
      Values expected;
      for (int rank = 0; rank < p(); ++rank) {
        const Values own = Input(rank, counts[rank], dtype);
        expected.insert(expected.end(), own.begin(), own.end());
        out.push_back(NewBuffer(rank, n, dtype));
        in.push_back(NewBuffer(rank, own, dtype));
        if (!in_place) continue;
        const Buffer block = Part(out[rank], Begin(counts, rank), counts[rank]);
        backend().device_backend().Upload(block.data, in[rank].data, block.bytes());
        in[rank] = block;
      }
      OnRanks([&](int r) { return comm(r).AllGather(in[r], out[r], counts, stream(r)); });
      for (const Buffer& buffer : out) EXPECT_EQ(Read(buffer), expected);
      ExpectBytes(n * SizeOf(dtype), (p() - 1) * n * SizeOf(dtype));
    }
  });
}

TEST_P(CollectivesTest, ReduceScatter) {
  ForCases(kReducible, [&](const Counts& counts, DType dtype) {
    const int64_t n = Total(counts);
    for (Reduction reduction : kReductions) {
      for (bool in_place : {false, true}) {
        std::vector<Buffer> in, out;
        for (int rank = 0; rank < p(); ++rank) {
          in.push_back(NewBuffer(rank, Input(rank, n, dtype), dtype));
          out.push_back(in_place ? Part(in[rank], Begin(counts, rank), counts[rank])
                                 : NewBuffer(rank, counts[rank], dtype));
        }
        OnRanks([&](int r) { return comm(r).ReduceScatter(in[r], out[r], counts, reduction, stream(r)); });
        const Values expected = Reduced(reduction, p(), n, dtype);
        for (int r = 0; r < p(); ++r) EXPECT_EQ(Read(out[r]), Slice(expected, Begin(counts, r), counts[r]));
        ExpectBytes(n * SizeOf(dtype), (p() - 1) * n * SizeOf(dtype));
      }
    }
  });
}

TEST_P(CollectivesTest, Broadcast) {
  ForCases(kAll, [&](const Counts& counts, DType dtype) {
    const int64_t n = Total(counts);
    for (int root = 0; root < p(); ++root) {
      for (bool in_place : {false, true}) {
        const Buffer in = NewBuffer(root, Input(root, n, dtype), dtype);
        std::vector<Buffer> out;
        for (int r = 0; r < p(); ++r) out.push_back(in_place && r == root ? in : NewBuffer(r, n, dtype));
        OnRanks([&](int r) {
          return comm(r).Broadcast(r == root ? ConstBuffer(in) : ConstBuffer{}, out[r], root, stream(r));
        });
        for (const Buffer& buffer : out) EXPECT_EQ(Read(buffer), Input(root, n, dtype));
        ExpectBytes(n * SizeOf(dtype), (p() - 1) * n * SizeOf(dtype));
      }
    }
  });
}

TEST_P(CollectivesTest, Reduce) {
  ForCases(kReducible, [&](const Counts& counts, DType dtype) {
    const int64_t n = Total(counts);
    const int root = static_cast<int>(n) % p();
    for (Reduction reduction : kReductions) {
      for (bool in_place : {false, true}) {
        std::vector<Buffer> in;
        for (int rank = 0; rank < p(); ++rank) in.push_back(NewBuffer(rank, Input(rank, n, dtype), dtype));
        const Buffer out = in_place ? in[root] : NewBuffer(root, n, dtype);
        OnRanks([&](int r) { return comm(r).Reduce(in[r], r == root ? out : Buffer{}, root, reduction, stream(r)); });
        EXPECT_EQ(Read(out), Reduced(reduction, p(), n, dtype));
        ExpectBytes(n * SizeOf(dtype), (p() - 1) * n * SizeOf(dtype));
      }
    }
  });
}

// Rank a sends (counts[b] + a) elements to b, or none if they are of the same parity.
TEST_P(CollectivesTest, AllToAll) {
  ForCases(kAll, [&](const Counts& counts, DType dtype) {
    const auto block = [&](int a, int b) { return (a + b) % 2 == 0 && a != b ? 0 : counts[b] + a; };
    std::vector<Counts> sent(p()), received(p());
    std::vector<Buffer> in, out;
    int64_t moved = 0;
    for (int a = 0; a < p(); ++a) {
      for (int b = 0; b < p(); ++b) {
        sent[a].push_back(block(a, b));
        received[a].push_back(block(b, a));
        if (a != b) moved += block(a, b) * SizeOf(dtype);
      }
      in.push_back(NewBuffer(a, Input(a, Total(sent[a]), dtype), dtype));
      out.push_back(NewBuffer(a, Total(received[a]), dtype));
    }
    OnRanks([&](int r) { return comm(r).AllToAll(in[r], sent[r], out[r], received[r], stream(r)); });
    for (int b = 0; b < p(); ++b) {
      Values expected;
      for (int a = 0; a < p(); ++a) {
        const Values blocks = Input(a, Total(sent[a]), dtype);
        const Values own = Slice(blocks, Begin(sent[a], b), block(a, b));
        expected.insert(expected.end(), own.begin(), own.end());
      }
      EXPECT_EQ(Read(out[b]), expected);
    }
    ExpectBytes(moved, moved);
  });
}

// Sums of f32 and bf16 are those of one thread adding in rank order, bit for bit, on every rank; bf16 is rounded after
// every addition.
TEST_P(CollectivesTest, SumsHaveTheSameBits) {
  const auto rounded = [](double value, DType dtype) {
    return dtype == DType::kF32 ? static_cast<float>(value) : static_cast<float>(Bf16(static_cast<float>(value)));
  };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (int64_t n : {1, 1000, 50001}) {
      std::mt19937 random(n);
      std::normal_distribution<float> normal;
      std::vector<Buffer> buffers;
      std::vector<float> expected(n);
      for (int r = 0; r < p(); ++r) {
        Values values(n);
        for (double& value : values) value = rounded(normal(random), dtype);
        for (int64_t i = 0; i < n; ++i) {
          const auto term = static_cast<float>(values[i]);
          expected[i] = r == 0 ? term : rounded(expected[i] + term, dtype);
        }
        buffers.push_back(NewBuffer(r, values, dtype));
      }
      OnRanks([&](int r) { return comm(r).AllReduce(buffers[r], buffers[r], Reduction::kSum, stream(r)); });
      for (const Buffer& buffer : buffers) EXPECT_EQ(Read(buffer), Values(expected.begin(), expected.end()));
    }
  }
}

TEST_P(CollectivesTest, ANaNOfAnyRankIsSeen) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [reduction, dtype] : {std::pair{Reduction::kSum, DType::kF32},
                                         {Reduction::kMax, DType::kF32},
                                         {Reduction::kSum, DType::kBF16},
                                         {Reduction::kMax, DType::kBF16}}) {
    for (int bad = 0; bad < p(); ++bad) {
      std::vector<Buffer> buffers;
      for (int r = 0; r < p(); ++r) buffers.push_back(NewBuffer(r, {r == bad ? nan : 1.0, 2.0}, dtype));
      OnRanks([&](int r) { return comm(r).AllReduce(buffers[r], buffers[r], reduction, stream(r)); });
      for (const Buffer& buffer : buffers) {
        EXPECT_TRUE(std::isnan(Read(buffer)[0]));
        EXPECT_FALSE(std::isnan(Read(buffer)[1]));
      }
    }
  }
}

// A stream that has passed a collective may overwrite what it handed in and what it got.
TEST_P(CollectivesTest, BuffersAreFreeAfterwards) {
  if (backend().walked_together())
    GTEST_SKIP() << "one thread drives all ranks: nothing comes behind a call that waits for its peers";
  for (int64_t n : {10, 30000}) {
    std::vector<Buffer> in, out, seen;
    for (int r = 0; r < p(); ++r) {
      in.push_back(NewBuffer(r, Input(r, n, DType::kF32), DType::kF32));
      out.push_back(NewBuffer(r, n, DType::kF32));
      seen.push_back(NewBuffer(r, n, DType::kF32));
    }
    OnRanks([&](int r) {
      EXPECT_OK(comm(r).AllReduce(in[r], out[r], Reduction::kSum, stream(r)));
      EXPECT_OK(stream(r).Zero(in[r].data, in[r].bytes()));
      EXPECT_OK(stream(r).Copy(seen[r].data, out[r].data, out[r].bytes()));
      return stream(r).Zero(out[r].data, out[r].bytes());
    });
    for (const Buffer& buffer : seen) EXPECT_EQ(Read(buffer), Reduced(Reduction::kSum, p(), n, DType::kF32));
  }
}

// x = sum of x, scattered, gathered, broadcast from the last rank: captured once, replayed often, counted each time.
TEST_P(CollectivesTest, CollectivesAreReplayed) {
  if (backend().walked_together())
    GTEST_SKIP() << "one thread drives all ranks: ranks are captured together (tests/runtime/comm/cuda_local)";
  constexpr int64_t n = 37;
  std::vector<Buffer> x, part;
  std::vector<std::unique_ptr<CapturedStep>> steps;
  Counts counts(p(), n / p());
  counts.back() += n % p();
  for (int r = 0; r < p(); ++r) {
    x.push_back(NewBuffer(r, n, DType::kF64));
    part.push_back(NewBuffer(r, counts[r], DType::kF64));
    Stream* const streams[] = {&stream(r)};
    ASSERT_OK(ranks_->device(r).BeginCapture(streams));
    EXPECT_OK(comm(r).ReduceScatter(x[r], part[r], counts, Reduction::kSum, stream(r)));
    EXPECT_OK(comm(r).AllGather(part[r], x[r], counts, stream(r)));
    EXPECT_OK(comm(r).Broadcast(x[r], x[r], p() - 1, stream(r)));
    EXPECT_OK(comm(r).AllReduce(x[r], x[r], Reduction::kMax, stream(r)));
    steps.push_back(*ranks_->device(r).EndCapture());
  }
  for (int replay = 0; replay < 100; ++replay) {
    for (int r = 0; r < p(); ++r) {
      const Values values(n, replay + r);
      std::vector<double> bytes(values);
      backend().device_backend().Upload(x[r].data, bytes.data(), n * 8);
    }
    for (const auto& step : steps) ASSERT_OK(step->Launch());
    for (const auto& step : steps) ASSERT_OK(step->Wait());
    const Values expected(n, p() * replay + p() * (p() - 1) / 2);
    for (const Buffer& buffer : x) ASSERT_EQ(Read(buffer), expected) << "replay " << replay;
    ExpectBytes(4 * n * 8, (p() - 1) * 5 * n * 8);
  }
  EXPECT_EQ(comm(0).bytes().calls, 400);
}

// One rank comes late, so the others wait for it, and say so: not longer than the test took, and about as long as it
// was late. (Whoever gets no processor in time waits less: one good attempt of many will do.)
TEST_P(CollectivesTest, WaitingIsMeasured) {
  if (backend().walked_together()) GTEST_SKIP() << "one thread drives all ranks: nobody waits for a peer";
  if (p() < 2) return;
  const double late = std::chrono::duration<double>(kSlow).count();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Buffer> x;
  for (int r = 0; r < p(); ++r) x.push_back(NewBuffer(r, 4, DType::kF32));
  double longest = 0, before = 0;
  for (int attempt = 1; attempt <= 50 && longest < 0.9 * late; ++attempt) {
    ASSERT_OK(Sleep(stream(p() - 1)));
    OnRanks([&](int r) { return comm(r).AllReduce(x[r], x[r], Reduction::kSum, stream(r)); });
    int64_t waits = 0;
    for (int r = 0; r < p(); ++r) waits += comm(r).bytes().waits;
    if (backend().knows_who_waits()) {
      EXPECT_EQ(waits, attempt * (p() - 1));  // all but the one who comes last
    } else {
      EXPECT_GE(waits, attempt * (p() - 1));
    }
    const CommBytes bytes = comm(0).bytes();
    longest = std::max(longest, bytes.wait_seconds - before);
    before = bytes.wait_seconds;
    EXPECT_EQ(bytes.MeanWaitSeconds(), bytes.waits == 0 ? 0 : bytes.wait_seconds / bytes.waits);
  }
  EXPECT_GE(longest, 0.9 * late);
  EXPECT_LE(before, 1.1 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

INSTANTIATE_TEST_SUITE_P(Backends, CollectivesTest,
                         testing::Combine(testing::ValuesIn(CommBackends()), testing::Range(1, 6)), CommCaseName);

INSTANTIATE_TEST_SUITE_P(WalkedTogether, CollectivesTest,
                         testing::Combine(testing::ValuesIn(CudaLocalCommBackends()), testing::Range(1, 6)),
                         CommCaseName);

}  // namespace
}  // namespace partita
