#include "runtime/data/pictures/transform/resample.h"

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/data/pictures/transform/taps.h"

namespace partita {
namespace {

// Bits below a byte's that are kept between the two directions.
constexpr int kKeptBits = 6;
constexpr int kColumnShift = kTapBits - kKeptBits, kRowShift = kTapBits + kKeptBits;

// One output row before its columns are resampled: weighted sums of source rows, `count` numbers wide. First along
// columns, because there the compiler's vectors take neighbours, and what is left for the other direction is less.
void SumRows(const uint8_t* source, int64_t stride, const Tap& tap, const int16_t* weights, std::vector<int32_t>& sums,
             std::vector<uint16_t>& row) {
  const size_t count = row.size();
  int32_t* const sum = sums.data();
  std::fill_n(sum, count, 1 << (kColumnShift - 1));
  int32_t t = 0;
  for (; t + 1 < tap.count; t += 2) {
    const int16_t first = weights[t], second = weights[t + 1];
    const uint8_t* const a = source + (tap.first + t) * stride;
    const uint8_t* const b = a + stride;
    for (size_t i = 0; i < count; ++i)
      sum[i] += first * static_cast<int16_t>(a[i]) + second * static_cast<int16_t>(b[i]);
  }
  if (t < tap.count) {
    const int16_t weight = weights[t];
    const uint8_t* const a = source + (tap.first + t) * stride;
    for (size_t i = 0; i < count; ++i) sum[i] += weight * static_cast<int16_t>(a[i]);
  }
  uint16_t* const out = row.data();
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<uint16_t>(sum[i] >> kColumnShift);
}

template <int kChannels>
void SumColumns(const uint16_t* row, const Taps& taps, uint8_t* out) {
  const int32_t left = taps.first();
  for (const Tap& tap : taps.outputs) {
    int32_t sums[kChannels];
    for (int c = 0; c < kChannels; ++c) sums[c] = 1 << (kRowShift - 1);
    const uint16_t* pixel = row + (tap.first - left) * kChannels;
    const int16_t* const weights = taps.weights.data() + tap.begin;
    for (int32_t t = 0; t < tap.count; ++t, pixel += kChannels) {
      for (int c = 0; c < kChannels; ++c) sums[c] += weights[t] * pixel[c];
    }
    for (int c = 0; c < kChannels; ++c) *out++ = static_cast<uint8_t>(sums[c] >> kRowShift);
  }
}

}  // namespace

void Resample(const Picture& picture, const Region& source, PictureSize scaled, const Region& window, uint8_t* out,
              int64_t row_bytes) {
  CHECK(picture.channels == 1 || picture.channels == 3);
  if (window.size.pixels() == 0) return;
  const Taps down = TriangleTaps(source.size.height, scaled.height, window.top, window.size.height);
  const Taps across = TriangleTaps(source.size.width, scaled.width, window.left, window.size.width);
  const int64_t channels = picture.channels, stride = picture.size.width * channels;
  const uint8_t* const first = picture.pixels.data() + source.top * stride + (source.left + across.first()) * channels;
  std::vector<uint16_t> row(static_cast<size_t>((across.end() - across.first()) * channels));
  std::vector<int32_t> sums(row.size());
  for (const Tap& tap : down.outputs) {
    SumRows(first, stride, tap, down.weights.data() + tap.begin, sums, row);
    if (channels == 1) {
      SumColumns<1>(row.data(), across, out);
    } else {
      SumColumns<3>(row.data(), across, out);
    }
    out += row_bytes;
  }
}

}  // namespace partita
