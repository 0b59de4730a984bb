#include "runtime/data/pictures/transform/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/data/pictures/transform/taps.h"

namespace partita {
namespace {

int Pattern(int64_t y, int64_t x) { return static_cast<int>((y * 37 + x * x * 11 + x * y * 5) % 256); }

// Channel c is the pattern c columns further on.
Picture Patterned(PictureSize size, int64_t channels = 1) {
  Picture picture{size, channels, {}};
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) picture.pixels.push_back(static_cast<uint8_t>(Pattern(y, x + c)));
    }
  }
  return picture;
}

std::vector<uint8_t> Resampled(const Picture& picture, const Region& source, PictureSize scaled, const Region& window) {
  std::vector<uint8_t> out(static_cast<size_t>(window.size.pixels() * picture.channels));
  Resample(picture, source, scaled, window, out.data(), window.size.width * picture.channels);
  return out;
}

std::vector<uint8_t> Resampled(const Picture& picture, PictureSize scaled) {
  return Resampled(picture, {0, 0, picture.size}, scaled, {0, 0, scaled});
}

// What Pillow 13.0 makes of the pattern: Image.fromarray(pattern).resize((width, height), Image.BILINEAR).
struct Golden {
  PictureSize from, to;
  std::vector<int> pixels;
};
const Golden kGoldens[] = {
    {{7, 9}, {3, 4}, {49, 125, 115, 101, 134, 156, 121, 148, 145, 107, 110, 137}},
    {{4, 5}, {6, 7}, {0,  6,   20,  44,  83,  132, 176, 19,  26,  42,  68,  109, 159, 205,
                      43, 53,  71,  99,  142, 177, 200, 68,  79,  100, 130, 176, 140, 67,
                      93, 106, 129, 162, 210, 158, 63,  111, 126, 151, 185, 235, 185, 91}},
    {{13, 3}, {2, 5}, {99, 101, 104, 117, 125, 112, 114, 117, 110, 105}},
};

TEST(Resample, IsWithinOneOfPillow) {
  for (const Golden& golden : kGoldens) {
    const std::vector<uint8_t> ours = Resampled(Patterned(golden.from), golden.to);
    ASSERT_EQ(ours.size(), golden.pixels.size());
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], golden.pixels[i], 1) << i;
  }
}

// The definition in double precision: a separable triangle as wide as two source or two output pixels.
double Exact(PictureSize from, PictureSize to, int64_t row, int64_t column) {
  const auto weight = [](int64_t in, int64_t out, int64_t output, int64_t pixel) {
    const double scale = static_cast<double>(in) / out, support = std::max(scale, 1.0);
    return std::max(0.0, 1 - std::abs((pixel + 0.5 - (output + 0.5) * scale) / support));
  };
  double sum = 0, total = 0;
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      const double w = weight(from.height, to.height, row, y) * weight(from.width, to.width, column, x);
      sum += w * Pattern(y, x);
      total += w;
    }
  }
  return sum / total;
}

TEST(Resample, IsTheTriangleRounded) {
  for (const auto& [from, to] : std::vector<std::pair<PictureSize, PictureSize>>{
           {{31, 17}, {9, 20}}, {{6, 40}, {11, 3}}, {{1, 1}, {4, 4}}, {{50, 50}, {1, 1}}, {{2, 33}, {33, 2}}}) {
    const std::vector<uint8_t> ours = Resampled(Patterned(from), to);
    for (int64_t i = 0; i < to.pixels(); ++i) {
      EXPECT_NEAR(ours[static_cast<size_t>(i)], Exact(from, to, i / to.width, i % to.width), 0.6);
    }
  }
}

TEST(Resample, OfTheSameSizeIsACopy) {
  for (const int64_t channels : {1, 3}) {
    const Picture picture = Patterned({6, 7}, channels);
    EXPECT_EQ(Resampled(picture, picture.size), picture.pixels);
  }
}

TEST(Resample, OneValueStaysOneValue) {
  for (const int value : {0, 1, 254, 255}) {
    const Picture picture{{37, 41}, 3, std::vector<uint8_t>(37 * 41 * 3, static_cast<uint8_t>(value))};
    for (const PictureSize size : {PictureSize{5, 90}, {90, 5}, {36, 40}}) {
      for (const uint8_t pixel : Resampled(picture, size)) ASSERT_EQ(pixel, value);
    }
  }
}

// A part is as if it had been cut out before; what is shown, as if it had been cut out afterwards.
TEST(Resample, PartsAreThoseOfTheWhole) {
  const Picture picture = Patterned({20, 30}, 3);
  Picture part{{11, 12}, 3, {}};
  for (int64_t y = 0; y < 11; ++y) {
    const auto row = picture.pixels.begin() + ((y + 4) * 30 + 7) * 3;
    part.pixels.insert(part.pixels.end(), row, row + 36);
  }
  const PictureSize scaled{8, 15};
  const std::vector<uint8_t> whole = Resampled(part, scaled);
  EXPECT_EQ(Resampled(picture, {4, 7, {11, 12}}, scaled, {0, 0, scaled}), whole);
  const std::vector<uint8_t> window = Resampled(picture, {4, 7, {11, 12}}, scaled, {2, 3, {5, 9}});
  for (int64_t y = 0; y < 5; ++y) {
    EXPECT_TRUE(
        std::equal(window.begin() + y * 27, window.begin() + (y + 1) * 27, whole.begin() + ((y + 2) * 15 + 3) * 3));
  }
}

TEST(Taps, WeightsSumToOneAndStayInside) {
  for (const auto& [in, out] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 9}, {9, 1}, {299, 300}, {9000, 7}}) {
    const Taps taps = TriangleTaps(in, out, 0, out);
    for (const Tap& tap : taps.outputs) {
      const auto begin = taps.weights.begin() + tap.begin;
      EXPECT_EQ(std::accumulate(begin, begin + tap.count, 0), 1 << kTapBits);
      EXPECT_GE(*std::min_element(begin, begin + tap.count), 0);
      EXPECT_GE(tap.first, 0);
      EXPECT_LE(tap.first + tap.count, in);
    }
    EXPECT_EQ(taps.first(), 0);
    EXPECT_EQ(taps.end(), in);
  }
}

}  // namespace
}  // namespace partita
