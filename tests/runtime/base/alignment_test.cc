#include "runtime/base/alignment.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace partita {
namespace {

TEST(Alignment, GoesToTheNextMultipleAndStaysOnOne) {
  const std::vector<std::array<int64_t, 3>> cases = {{0, 0, 0}, {1, 0, 64}, {63, 0, 64}, {64, 64, 64}, {65, 64, 128}};
  for (const auto& [bytes, down, up] : cases) {
    EXPECT_EQ(AlignDown(bytes), down);
    EXPECT_EQ(AlignUp(bytes), up);
  }
  EXPECT_EQ(AlignUp((int64_t{1} << 40) + 1), (int64_t{1} << 40) + 64);
}

}  // namespace
}  // namespace partita
