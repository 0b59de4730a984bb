#include "runtime/exec/watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/base/bf16.h"

namespace partita {
namespace {

template <typename T>
bool Finite(const std::vector<double>& values, DType dtype) {
  std::vector<T> stored;
  for (const double value : values) stored.push_back(static_cast<T>(value));
  return AllFinite(stored.data(), static_cast<int64_t>(stored.size()), dtype);
}

bool FiniteIn(DType dtype, const std::vector<double>& values) {
  if (dtype == DType::kF32) return Finite<float>(values, dtype);
  return dtype == DType::kF64 ? Finite<double>(values, dtype) : Finite<Bf16>(values, dtype);
}

TEST(AllFinite, SeesInfinityAndNaNInEveryFloat) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    EXPECT_TRUE(FiniteIn(dtype, {}));
    EXPECT_TRUE(FiniteIn(dtype, {0, -1.5, 1e38}));
    EXPECT_FALSE(FiniteIn(dtype, {0, std::nan(""), 1})) << Name(dtype);
    EXPECT_FALSE(FiniteIn(dtype, {0, 1, -std::numeric_limits<double>::infinity()})) << Name(dtype);
  }
}

TEST(AllFinite, PoisonIsNotFinite) {
  unsigned char poison[8];
  std::memset(poison, kPoisonByte, sizeof(poison));
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    EXPECT_FALSE(AllFinite(poison, 8 / SizeOf(dtype), dtype)) << Name(dtype);
  }
}

}  // namespace
}  // namespace partita
