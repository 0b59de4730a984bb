#include "runtime/data/pictures/measure_pictures.h"

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/data/permutation.h"
#include "runtime/data/pictures/show_picture.h"

namespace partita {
namespace {

constexpr uint64_t kSeed = 0;

// Counts of one channel's bytes.
using Histogram = std::array<uint64_t, 256>;

void Count(std::span<const uint8_t> shown, std::vector<Histogram>& histograms) {
  const size_t channels = histograms.size();
  for (size_t i = 0; i < shown.size(); ++i) ++histograms[i % channels][shown[i]];
}

}  // namespace

absl::StatusOr<Normalization> MeasurePictures(const PictureSet& set, const ViewOptions& views, int channels,
                                              DecodeThreads& threads, BadFiles& bad) {
  std::vector<uint32_t> order = EpochPermutation(kSeed, 0, static_cast<int64_t>(set.samples.size()));
  order.resize(std::min<size_t>(order.size(), kMeasuredPictures));
  std::ranges::sort(order);  // what is bad is told in the order of the set
  std::vector<std::vector<Histogram>> counts(order.size());
  std::vector<absl::Status> found(order.size());
  RETURN_IF_ERROR(threads.Run(static_cast<int64_t>(order.size()), [&](int64_t i) {
    const size_t at = static_cast<size_t>(i);
    std::vector<uint8_t> shown(static_cast<size_t>(views.size.pixels() * channels));
    found[at] = ShowPicture(set, set.samples[order[at]], channels, views.size, shown,
                            [&](PictureSize size) { return MiddleView(views, size); });
    if (!found[at].ok()) return absl::OkStatus();
    counts[at].resize(static_cast<size_t>(channels));
    Count(shown, counts[at]);
    return absl::OkStatus();
  }));
  std::vector<Histogram> sums(static_cast<size_t>(channels), Histogram{});
  for (size_t i = 0; i < order.size(); ++i) {
    if (!found[i].ok()) RETURN_IF_ERROR(bad.Add(found[i]));
    for (size_t c = 0; c < counts[i].size(); ++c) {
      for (size_t byte = 0; byte < 256; ++byte) sums[c][byte] += counts[i][c][byte];
    }
  }
  if (std::ranges::all_of(sums[0], [](uint64_t count) { return count == 0; })) {
    return InvalidArgument("{}: found no pictures to measure mean and deviation of", set.folder);
  }
  return NormalizationOf(sums);
}

}  // namespace partita
