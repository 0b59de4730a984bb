// Products in packed tiles, of sizes that fill no tile, no block and no part of the depth, beside sums in double.
#include "ops/host/products/matrix_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace partita {
namespace {

std::vector<float> Random(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return values;
}

struct Operands {
  explicit Operands(const ProductSizes& s) : x(Random(s.m * s.k, 1)), w(Random(s.k * s.n, 2)), bias(Random(s.n, 3)) {}
  std::vector<float> x, w, bias;
};

std::vector<float> Product(const ProductSizes& s, const Operands& operands, bool biased, int threads,
                           int64_t held_elements) {
  const ThreadScope scope(threads);
  const MatrixProduct product(s, held_elements);
  std::vector<float> y(s.m * s.n, std::nanf("")), workspace(product.workspace_bytes() / 4 + 16);
  float* const aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64 / 4;
  product.Run(operands.x.data(), operands.w.data(), biased ? operands.bias.data() : nullptr, y.data(), aligned);
  return y;
}

// The largest error of an element.
double Error(const ProductSizes& s, const Operands& operands, bool biased, const std::vector<float>& y) {
  double error = 0;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = biased ? operands.bias[j] : 0;
      for (int64_t k = 0; k < s.k; ++k) {
        sum += double{operands.x[s.transpose_x ? k * s.m + i : i * s.k + k]} *
               double{operands.w[s.transpose_w ? j * s.k + k : k * s.n + j]};
      }
      error = std::max(error, std::abs(double{y[i * s.n + j]} - sum));
    }
  }
  return error;
}

// Of all of the depth at once and part by part, of blocks that are cut as well (the last sizes); bits depend on
// neither, nor on the number of threads.
TEST(MatrixProduct, IsTheSumsInDouble) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {8, 32, 256},
                                                                   {9, 33, 257},
                                                                   {70, 31, 600},
                                                                   {16, 65, 100},
                                                                   {41, 300, 513},
                                                                   {301, 40, 1030},
                                                                   {64, 256, 256},
                                                                   {250, 300, 30}}) {
    for (const bool x : {false, true}) {
      for (const bool w : {false, true}) {
        const ProductSizes sizes{m, n, k, x, w};
        const Operands operands(sizes);
        const bool biased = x != w;
        const std::vector<float> y = Product(sizes, operands, biased, 1, 1 << 20);
        EXPECT_LE(Error(sizes, operands, biased, y), 2e-7 * static_cast<double>(k))
            << m << " x " << n << " x " << k << " " << x << w;
        for (const int threads : {1, 2, 3}) {
          EXPECT_EQ(Product(sizes, operands, biased, threads, 1), y) << threads << " threads";
        }
        EXPECT_EQ(Product(sizes, operands, biased, 2, 1 << 20), y);
      }
    }
  }
}

}  // namespace
}  // namespace partita
