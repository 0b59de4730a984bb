// Labelled images in memory, from IDX files or made up.
//
// The checks of a whole set (as many labels as images, every label a class) run once here, so that users of an
// ImageDataset need not check again. Immutable after it is made, so any number of threads may read it.
#ifndef PARTITA_RUNTIME_DATA_IMAGE_DATASET_H_
#define PARTITA_RUNTIME_DATA_IMAGE_DATASET_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Where Debian's package dataset-fashion-mnist puts its four files.
inline constexpr char kFashionMnistFolder[] = "/usr/share/datasets/fashion-mnist";
inline constexpr int64_t kFashionMnistClasses = 10;

struct ImageShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t elements() const { return height * width * channels; }
  bool operator==(const ImageShape&) const = default;
};

struct ImageDataset {
  int64_t count = 0;
  ImageShape shape;
  int64_t classes = 0;
  std::vector<uint8_t> images;  // [count, height, width, channels]
  std::vector<int32_t> labels;  // [count], each in [0, classes)

  std::span<const uint8_t> image(int64_t i) const {
    return std::span(images).subspan(i * shape.elements(), shape.elements());
  }
};

// What a folder has of the two.
struct ImageSets {
  std::optional<ImageDataset> train, test;
};

// One set from its two files, both of unsigned bytes. Images are [n,h,w] (one channel) or [n,h,w,c], labels [n].
absl::StatusOr<ImageDataset> LoadIdxDataset(const std::string& images_path, const std::string& labels_path,
                                            int64_t classes);

// Which of the two a caller needs; files of the other are not opened.
struct NeededSets {
  bool train = true, test = true;
};

// The sets of a folder with MNIST's names: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-... , each with or
// without .gz; one of the two sets may be missing as a whole. Both must have one image shape. Fashion-MNIST is
// LoadMnistFolder(kFashionMnistFolder, kFashionMnistClasses).
absl::StatusOr<ImageSets> LoadMnistFolder(const std::string& folder, int64_t classes, NeededSets needed = {});

// Uniformly random pixels and labels from the seed: for throughput and tests (--mock-data), nothing can be learnt from
// it. Sizes below 1 or more than 2^40 bytes in all are kInvalidArgument, more than there is memory kResourceExhausted.
absl::StatusOr<ImageDataset> MakeMockDataset(int64_t count, ImageShape shape, int64_t classes, uint64_t seed);

// A hash of all that a dataset holds: ranks compare it, so that none trains on other data.
uint64_t Digest(const ImageDataset& dataset);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_IMAGE_DATASET_H_
