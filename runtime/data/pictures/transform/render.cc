#include "runtime/data/pictures/transform/render.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {
namespace {

// [begin, begin + count) of what is shown, so far as it lies in [0, limit).
struct Inside {
  int64_t begin, count;
};
Inside InsideOf(int64_t begin, int64_t count, int64_t limit) {
  const int64_t first = std::clamp<int64_t>(begin, 0, limit), end = std::clamp<int64_t>(begin + count, 0, limit);
  return {first, end - first};
}

void Mirror(std::span<uint8_t> row, int64_t channels) {
  for (size_t left = 0, right = row.size(); left + static_cast<size_t>(channels) < right;
       left += static_cast<size_t>(channels), right -= static_cast<size_t>(channels)) {
    std::swap_ranges(row.begin() + static_cast<int64_t>(left), row.begin() + static_cast<int64_t>(left) + channels,
                     row.begin() + static_cast<int64_t>(right) - channels);
  }
}

}  // namespace

void Render(const Picture& picture, const View& view, PictureSize size, std::span<uint8_t> out) {
  const int64_t channels = picture.channels, row_bytes = size.width * channels;
  CHECK(static_cast<int64_t>(out.size()) == size.height * row_bytes);
  const Inside rows = InsideOf(view.top, size.height, view.scaled.height);
  const Inside columns = InsideOf(view.left, size.width, view.scaled.width);
  const bool whole = rows.count == size.height && columns.count == size.width;
  if (!whole) std::ranges::fill(out, uint8_t{0});
  if (rows.count == 0 || columns.count == 0) return;
  const Region window{rows.begin, columns.begin, {rows.count, columns.count}};
  Resample(picture, view.source, view.scaled, window,
           out.data() + (rows.begin - view.top) * row_bytes + (columns.begin - view.left) * channels, row_bytes);
  AdjustColour(view.colour, channels, out);
  if (!view.flip) return;
  for (int64_t y = 0; y < size.height; ++y)
    Mirror(out.subspan(static_cast<size_t>(y * row_bytes), static_cast<size_t>(row_bytes)), channels);
}

}  // namespace partita
