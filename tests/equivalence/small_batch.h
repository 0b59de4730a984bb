// Images and labels of a step for small models, in f64: the same for the same step.
#ifndef PARTITA_TESTS_EQUIVALENCE_SMALL_BATCH_H_
#define PARTITA_TESTS_EQUIVALENCE_SMALL_BATCH_H_

#include <cstring>

#include "runtime/api/rank/gather.h"
#include "runtime/base/philox.h"

namespace partita {

inline HostTensor SmallImages(const Shape& shape, int step) {
  const auto elements = static_cast<size_t>(Elements(shape));
  HostTensor images{DType::kF64, shape, std::vector<char>(elements * sizeof(double))};
  const uint64_t key = PhiloxKey(1, "images");
  for (size_t i = 0; i < elements; ++i) {
    const double pixel = 2 * static_cast<double>(Uniform(key, static_cast<uint64_t>(step), i)) - 1;
    std::memcpy(images.bytes.data() + i * sizeof(double), &pixel, sizeof(double));
  }
  return images;
}

inline HostTensor SmallLabels(int64_t samples, int64_t classes, int step) {
  HostTensor labels{DType::kI32, {samples}, std::vector<char>(static_cast<size_t>(samples) * sizeof(int32_t))};
  const uint64_t key = PhiloxKey(1, "labels");
  for (size_t i = 0; i < static_cast<size_t>(samples); ++i) {
    const auto label = static_cast<int32_t>(Uniform(key, static_cast<uint64_t>(step), i) * static_cast<float>(classes));
    std::memcpy(labels.bytes.data() + i * sizeof(int32_t), &label, sizeof(int32_t));
  }
  return labels;
}

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_SMALL_BATCH_H_
