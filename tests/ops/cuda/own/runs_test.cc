// Runs of bf16, which are compared, widened and rounded in pairs, against one element after the other; runs of two
// accesses.
#include "ops/cuda/loops/runs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace partita {
namespace {

// Within a test, Run is a function of it.
using Pair = Run<Bf16, 2>;
using Single = Run<float, 1>;

// Of every sign and kind: zeros, the smallest and largest numbers, infinities, NaN that signal and that do not.
std::vector<uint16_t> Bits() {
  std::vector<uint16_t> bits;
  for (const int positive : {0x0000, 0x0001, 0x007F, 0x0080, 0x3F7F, 0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0x7F81, 0x7FC1}) {
    bits.push_back(static_cast<uint16_t>(positive));
    bits.push_back(static_cast<uint16_t>(positive | 0x8000));
  }
  return bits;
}

template <typename F>
void ForPairs(const F& f) {
  for (const uint16_t a : Bits()) {
    for (const uint16_t b : Bits()) {
      SCOPED_TRACE(std::to_string(a) + " and " + std::to_string(b));
      f(Pair{{Bf16::FromBits(a), Bf16::FromBits(b)}}, Pair{{Bf16::FromBits(b), Bf16::FromBits(a)}});
    }
  }
}

float Wide(Bf16 x) { return static_cast<float>(x); }

bool IsSignalling(Bf16 x) { return Wide(x) != Wide(x) && (x.bits() & 0x40) == 0; }

TEST(Runs, AreEqualWhereTheirNumbersAre) {
  ForPairs([](const Pair& a, const Pair& b) {
    const uint32_t mask = EqualElements(a, b).at[0];
    EXPECT_EQ(mask & 0xFFFF, Wide(a.at[0]) == Wide(b.at[0]) ? 0xFFFF : 0);
    EXPECT_EQ(mask >> 16, Wide(a.at[1]) == Wide(b.at[1]) ? 0xFFFF : 0);
    const Pair selected = Selected(a, EqualElements(a, b));
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(selected.at[k].bits(), Wide(a.at[k]) == Wide(b.at[k]) ? a.at[k].bits() : 0);
    }
  });
}

TEST(Runs, KeepTheFirstOfTheLargestAndTheLastNaN) {
  ForPairs([](const Pair& values, const Pair& before) {
    Pair best = before;
    KeepLarger(values, best);
    for (int k = 0; k < 2; ++k) {
      const bool taken = Exceeds(Wide(values.at[k]), Wide(before.at[k]));
      EXPECT_EQ(best.at[k].bits(), (taken ? values : before).at[k].bits());
    }
  });
}

// In pairs of bf16, and one by one; there the C library takes a signalling NaN for the largest.
TEST(Runs, KeepTheLargestNumber) {
  ForPairs([](const Pair& values, const Pair& before) {
    Pair largest = before;
    KeepLargest(values, largest);
    for (int k = 0; k < 2; ++k) {
      const float x = Wide(values.at[k]), y = Wide(before.at[k]);
      const auto expect_larger = [&](float found) {
        if (x != x && y != y) {
          EXPECT_TRUE(found != found);
        } else {
          EXPECT_EQ(found, x > y || y != y ? x : y);
        }
      };
      expect_larger(Wide(largest.at[k]));
      if (IsSignalling(values.at[k]) || IsSignalling(before.at[k])) continue;
      Single wide{{y}};
      KeepLargest(Single{{x}}, wide);
      expect_larger(wide.at[0]);
    }
  });
}

TEST(Runs, OfTwoAccessesLieApart) {
  const std::vector<float> from = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  alignas(16) float memory[12];
  std::memcpy(memory, from.data(), sizeof memory);
  for (const int apart : {4, 8}) {  // elements
    const int64_t bytes = apart * static_cast<int64_t>(sizeof(float));
    const auto run = LoadRun<8>(memory, bytes);
    for (int k = 0; k < 8; ++k) EXPECT_EQ(run.at[k], from[k < 4 ? k : k - 4 + apart]);
    alignas(16) float stored[12] = {};
    StoreRun(run, stored, bytes);
    for (int k = 0; k < 12; ++k) EXPECT_EQ(stored[k], k < 4 || (k >= apart && k < apart + 4) ? from[k] : 0);
  }
}

TEST(Runs, AreWidenedAndRoundedAsTheirElements) {
  ForPairs([](const Pair& run, const Pair&) {
    float wide[2];
    Widen(run, wide);
    for (int k = 0; k < 2; ++k) {
      const float expected = Wide(run.at[k]);
      EXPECT_EQ(std::memcmp(&wide[k], &expected, sizeof expected), 0);
      wide[k] *= 1.0048828125F;  // between two numbers of bf16, or halfway
    }
    Pair rounded;
    StoreRounded(wide, rounded.at);
    for (int k = 0; k < 2; ++k) EXPECT_EQ(rounded.at[k].bits(), Bf16(wide[k]).bits());
  });
}

}  // namespace
}  // namespace partita
