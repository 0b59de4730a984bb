// Pixel bytes to numbers: (x / 255 - mean) / deviation per channel.
#ifndef PARTITA_RUNTIME_DATA_NORMALIZATION_H_
#define PARTITA_RUNTIME_DATA_NORMALIZATION_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "runtime/data/image_dataset.h"

namespace partita {

struct Normalization {
  std::vector<double> mean;       // one per channel, in units of 1 = white
  std::vector<double> deviation;  // per channel, above 0
};

// Mean and standard deviation (biased) of each channel over all pixels of the training set, from exact integer sums, so
// that all processes get bitwise identical values. A channel of one constant value gets deviation 1.
Normalization MeasureNormalization(const ImageDataset& training);

// The same from how often each byte occurs in each channel.
Normalization NormalizationOf(std::span<const std::array<uint64_t, 256>> histograms);

// Mean 0, deviation 1: numbers from 0 to 1.
Normalization NoNormalization(int64_t channels);

// kInvalidArgument unless there is one finite mean and one finite deviation above 0 for each channel.
absl::Status CheckNormalization(const Normalization& normalization, int64_t channels);

// The number for each byte of each channel, rounded once from double: value[channel * 256 + byte].
template <typename T>
std::vector<T> NormalizationTable(const Normalization& normalization) {
  std::vector<T> table;
  for (size_t channel = 0; channel < normalization.mean.size(); ++channel) {
    for (int byte = 0; byte < 256; ++byte) {
      table.push_back(static_cast<T>((byte / 255.0 - normalization.mean[channel]) / normalization.deviation[channel]));
    }
  }
  return table;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_NORMALIZATION_H_
