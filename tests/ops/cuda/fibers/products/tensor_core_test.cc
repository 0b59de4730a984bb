// Which lane loads, multiplies and stores what of a tile of bf16 (ops/cuda/loops/sequences/tile_sums.h): the branch
// that only a GPU compiles, with its instructions played.
#include <gtest/gtest.h>

#include <vector>

#include "tests/ops/cuda/fibers/fiber_queue.h"
#include "tests/ops/cuda/fibers/products/tensor_core_kernel.h"

namespace partita::fibers {
namespace {

constexpr int kSide = 64, kDepth = 32;

// Small whole numbers, of which f32 adds up thousands without rounding; no two rows or columns are alike.
std::vector<Bf16> Matrix(int factor) {
  std::vector<Bf16> values;
  for (int i = 0; i < kSide * kDepth; ++i) values.emplace_back((i * factor + i * i / 7) % 31 - 15);
  return values;
}

TEST(TensorCore, EachElementIsASumOfItsRowAndColumn) {
  const std::vector<Bf16> x = Matrix(5), w = Matrix(11);
  for (const bool transposed : {false, true}) {
    for (const int chunks : {1, 2}) {
      std::vector<float> y(kSide * kSide);
      Memory memory;
      memory.Add("x", x.data(), static_cast<int64_t>(x.size() * sizeof(Bf16)), false);
      memory.Add("w", w.data(), static_cast<int64_t>(w.size() * sizeof(Bf16)), false);
      memory.Add("y", y.data(), static_cast<int64_t>(y.size() * sizeof(float)), true);
      FiberQueue queue(static_cast<uint64_t>(chunks), memory);
      ASSERT_EQ(LaunchTensorCores(transposed, chunks, x.data(), w.data(), y.data(), &queue), kLaunched);
      ASSERT_EQ(queue.failure(), "");
      for (int row = 0; row < kSide; ++row) {
        for (int column = 0; column < kSide; ++column) {
          float sum = 0;
          for (int k = 0; k < kDepth; ++k) {
            const int at = transposed ? column * kDepth + k : k * kSide + column;
            sum += static_cast<float>(x[row * kDepth + k]) * static_cast<float>(w[at]);
          }
          ASSERT_EQ(y[row * kSide + column], static_cast<float>(chunks) * sum)
              << "row " << row << " column " << column << " transposed " << transposed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita::fibers
