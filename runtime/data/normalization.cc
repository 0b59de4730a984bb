#include "runtime/data/normalization.h"

#include <array>
#include <cmath>

#include "runtime/base/status.h"

namespace partita {
namespace {

// How often each byte occurs in one channel.
std::array<uint64_t, 256> Histogram(const ImageDataset& dataset, int64_t channel) {
  std::array<uint64_t, 256> histogram{};
  const size_t channels = dataset.shape.channels;
  for (size_t i = channel; i < dataset.images.size(); i += channels) ++histogram[dataset.images[i]];
  return histogram;
}

}  // namespace

Normalization MeasureNormalization(const ImageDataset& training) {
  std::vector<std::array<uint64_t, 256>> histograms;
  for (int64_t channel = 0; channel < training.shape.channels; ++channel) {
    histograms.push_back(Histogram(training, channel));
  }
  return NormalizationOf(histograms);
}

Normalization NormalizationOf(std::span<const std::array<uint64_t, 256>> histograms) {
  Normalization result;
  for (const std::array<uint64_t, 256>& histogram : histograms) {
    uint64_t count = 0, sum = 0;
    for (uint64_t byte = 0; byte < 256; ++byte) {
      count += histogram[byte];
      sum += histogram[byte] * byte;
    }
    const double mean = static_cast<double>(sum) / count / 255;
    double variance = 0;
    for (int byte = 0; byte < 256; ++byte) variance += histogram[byte] * std::pow(byte / 255.0 - mean, 2) / count;
    result.mean.push_back(mean);
    // Exactly constant, not nearly: rounding leaves a tiny variance there.
    const bool constant = histogram[sum / count] == count;
    result.deviation.push_back(constant ? 1 : std::sqrt(variance));
  }
  return result;
}

Normalization NoNormalization(int64_t channels) {
  return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
}

absl::Status CheckNormalization(const Normalization& normalization, int64_t channels) {
  const int64_t means = normalization.mean.size(), deviations = normalization.deviation.size();
  if (means != channels || deviations != channels) {
    return InvalidArgument("normalization: found {} means and {} deviations, the images have {} channels", means,
                           deviations, channels);
  }
  for (int64_t i = 0; i < channels; ++i) {
    const double mean = normalization.mean[i], deviation = normalization.deviation[i];
    if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation <= 0) {
      return InvalidArgument(
          "normalization: channel {}: found mean {} and deviation {}, allowed are finite numbers, the "
          "deviation above 0",
          i, mean, deviation);
    }
  }
  return absl::OkStatus();
}

}  // namespace partita
