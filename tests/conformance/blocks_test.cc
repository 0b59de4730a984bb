// All_to_all of blocks that lie anywhere in their tensors: exact values and exact bytes, and a refusal by who packs.
#include "tests/conformance/comm_fixture.h"
#include "tests/conformance/cuda_backend.h"

namespace partita {
namespace {

using BlocksTest = CommTest;

// A block of a tensor [2, rows, columns, 3] at these rows and columns.
StridedBlock Tile(int64_t rows, int64_t columns, int64_t row, int64_t column, int64_t row_count, int64_t column_count) {
  return {(row * columns + column) * 3, {{2, rows * columns * 3}, {row_count, columns * 3}, {column_count, 3}, {3, 1}}};
}

// Rank a sends columns [b, b + 1 + a % 2) of its rows to b, or none if they are of the same parity; b has them where
// its columns are rows, with a margin that stays as it was.
TEST_P(BlocksTest, ColumnsBecomeRows) {
  const int64_t rows = 4000, columns = p() + 1;  // more than is copied in one piece
  const int64_t elements = 2 * rows * columns * 3;
  const auto width = [](int a, int b) { return (a + b) % 2 == 0 && a != b ? 0 : 1 + a % 2; };
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kU8}) {
    std::vector<Buffer> in, out;
    std::vector<Values> expected;
    std::vector<std::vector<StridedBlock>> sent(p()), received(p());
    int64_t moved = 0;
    for (int b = 0; b < p(); ++b) {
      in.push_back(NewBuffer(b, Input(b, elements, dtype), dtype));
      out.push_back(NewBuffer(b, 2 * p() * rows * 2 * 3, dtype));
      expected.push_back(Read(out[b]));
      for (int a = 0; a < p(); ++a) {
        sent[b].push_back(Tile(rows, columns, 0, a, rows, width(b, a)));
        received[b].push_back(Tile(p() * rows, 2, a * rows, 0, rows, width(a, b)));
        const Values values = Input(a, elements, dtype);
        if (a != b) moved += 2 * rows * width(a, b) * 3 * SizeOf(dtype);
        for (int64_t i = 0; i < 2 * rows * width(a, b) * 3; ++i) {
          const int64_t c = i % 3, x = i / 3 % width(a, b), y = i / 3 / width(a, b) % rows,
                        n = i / 3 / width(a, b) / rows;
          expected[b][((n * p() * rows + a * rows + y) * 2 + x) * 3 + c] =
              values[((n * rows + y) * columns + b + x) * 3 + c];
        }
      }
    }
    if (!backend().moves_blocks()) {
      const absl::Status status = comm(0).AllToAllBlocks(in[0], sent[0], out[0], received[0], stream(0));
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      return;
    }
    OnRanks([&](int r) { return comm(r).AllToAllBlocks(in[r], sent[r], out[r], received[r], stream(r)); });
    for (int b = 0; b < p(); ++b) EXPECT_EQ(Read(out[b]), expected[b]) << "rank " << b;
    ExpectBytes(moved, moved);
  }
}

TEST_P(BlocksTest, MayBeEmptyOrOneElement) {
  if (!backend().moves_blocks()) GTEST_SKIP() << backend().name() << " moves packed blocks only";
  std::vector<Buffer> in, out;
  std::vector<std::vector<StridedBlock>> sent(p(), std::vector<StridedBlock>(p())), received = sent;
  for (int r = 0; r < p(); ++r) {
    in.push_back(NewBuffer(r, Input(r, 4, DType::kF32), DType::kF32));
    out.push_back(NewBuffer(r, 2, DType::kF32));
    const int next = (r + 1) % p();
    sent[r][next] = {3, {}};
    received[next][r] = {1, {}};
  }
  OnRanks([&](int r) { return comm(r).AllToAllBlocks(in[r], sent[r], out[r], received[r], stream(r)); });
  for (int r = 0; r < p(); ++r) {
    EXPECT_EQ(Read(out[r]), (Values{-1, Input((r + p() - 1) % p(), 4, DType::kF32)[3]}));
  }
  OnRanks([&](int r) {
    const std::vector<StridedBlock> nothing(p());
    return comm(r).AllToAllBlocks({}, nothing, {}, nothing, stream(r));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, BlocksTest,
                         testing::Combine(testing::ValuesIn(CommBackends()), testing::Range(1, 6)), CommCaseName);

INSTANTIATE_TEST_SUITE_P(WalkedTogether, BlocksTest,
                         testing::Combine(testing::ValuesIn(CudaLocalCommBackends()), testing::Range(1, 6)),
                         CommCaseName);

}  // namespace
}  // namespace partita
