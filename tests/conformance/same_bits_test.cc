// Every backend reduces in the same order as `local`, so the bits of a sum do not depend on how ranks talk.
#include <algorithm>
#include <random>

#include "tests/conformance/comm_fixture.h"

namespace partita {
namespace {

// Longer than a chunk in which a backend may cut what it sends, for each of 2 ranks.
constexpr int64_t kElements = 300007;

class SameBitsTest : public CommTest {
 protected:
  // What all ranks get: of all_reduce, then of reduce_scatter in uneven blocks, then of reduce to the last rank.
  std::vector<Values> Results(const CommBackend& backend) {
    const std::unique_ptr<CommRanks> ranks = backend.CreateRanks(p(), kGroup);
    std::vector<Values> results;
    for (const int64_t n : {int64_t{5}, kElements}) {
      Counts counts(p(), n / p());
      counts.back() += n % p();
      std::swap(counts.front(), counts.back());
      std::vector<Buffer> in, sum, block, root;
      for (int r = 0; r < p(); ++r) {
        in.push_back(NewBuffer(r, Random(r, n), DType::kF32));
        sum.push_back(NewBuffer(r, n, DType::kF32));
        block.push_back(NewBuffer(r, counts[r], DType::kF32));
        root.push_back(NewBuffer(r, n, DType::kF32));
        EXPECT_OK(ranks->communicator(r).AllReduce(in[r], sum[r], Reduction::kSum, ranks->stream(r)));
        EXPECT_OK(ranks->communicator(r).ReduceScatter(in[r], block[r], counts, Reduction::kSum, ranks->stream(r)));
        EXPECT_OK(ranks->communicator(r).Reduce(in[r], root[r], p() - 1, Reduction::kSum, ranks->stream(r)));
      }
      for (int r = 0; r < p(); ++r) {
        EXPECT_OK(ranks->stream(r).Synchronize());
        results.insert(results.end(), {Read(sum[r]), Read(block[r])});
      }
      results.push_back(Read(root.back()));
    }
    return results;
  }

  // f32 values of very different size: each order of a sum gives other bits.
  static Values Random(int rank, int64_t count) {
    std::mt19937 generator(static_cast<unsigned>(rank));
    std::uniform_real_distribution<float> exponent(-10, 10), sign(-1, 1);
    Values values(count);
    for (double& value : values) value = std::exp2(exponent(generator)) * sign(generator);
    return values;
  }
};

TEST_P(SameBitsTest, AsLocal) {
  const auto local = std::ranges::find(CommBackends(), "local", &CommBackend::name);
  ASSERT_TRUE(local != CommBackends().end());
  EXPECT_EQ(Results(backend()), Results(**local));
}

INSTANTIATE_TEST_SUITE_P(Backends, SameBitsTest,
                         testing::Combine(testing::ValuesIn(CommBackends()), testing::Values(1, 2, 3, 5)),
                         CommCaseName);

}  // namespace
}  // namespace partita
