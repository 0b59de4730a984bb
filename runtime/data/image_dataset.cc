#include "runtime/data/image_dataset.h"

#include <xxhash.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/base/number.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "runtime/data/idx.h"

namespace partita {
namespace {

constexpr int64_t kLargestMock = int64_t{1} << 40;
constexpr char kImages[] = "-images-idx3-ubyte";

absl::StatusOr<Array> ReadBytes(const std::string& path) {
  ASSIGN_OR_RETURN(Array array, ReadIdx(path));
  if (array.type == ElementType::kU8) return array;
  return InvalidArgument("{}: offset 2: found elements of {}, images and labels have u8 (0x08)", path,
                         Name(array.type));
}

absl::StatusOr<ImageShape> ShapeOfImages(const Array& images, const std::string& path) {
  const std::vector<int64_t>& sizes = images.sizes;
  if (sizes.size() == 3) return ImageShape{sizes[1], sizes[2], 1};
  if (sizes.size() == 4) return ImageShape{sizes[1], sizes[2], sizes[3]};
  return InvalidArgument("{}: offset 3: found {} dimensions, images have 3 (n,h,w) or 4 (n,h,w,c)", path, sizes.size());
}

absl::StatusOr<std::vector<int32_t>> CheckedLabels(const Array& labels, int64_t images, int64_t classes,
                                                   const std::string& images_path, const std::string& path) {
  if (labels.sizes.size() != 1) {
    return InvalidArgument("{}: offset 3: found {} dimensions, labels have 1", path, labels.sizes.size());
  }
  if (labels.sizes[0] != images) {
    return InvalidArgument("{}: offset 4: found {}, {} has {}", path, Counted(labels.sizes[0], "label"), images_path,
                           Counted(images, "image"));
  }
  for (size_t i = 0; i < labels.bytes.size(); ++i) {
    if (labels.bytes[i] >= classes) {
      return InvalidArgument("{}: offset {}: found label {} of sample {}, allowed are 0 to {}", path, 8 + i,
                             labels.bytes[i], i, classes - 1);
    }
  }
  return std::vector<int32_t>(labels.bytes.begin(), labels.bytes.end());
}

// The file under its plain name, or its name with .gz; none if there is neither. A link that leads nowhere is one.
std::optional<std::string> FindFile(const std::string& folder, const std::string& name) {
  for (const std::string& path : {folder + "/" + name, folder + "/" + name + ".gz"}) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return path;
  }
  return std::nullopt;
}

absl::Status Missing(const std::string& folder, const std::string& name) {
  return InvalidArgument("{}: found neither {} nor {}.gz (Debian's package dataset-fashion-mnist installs them in {})",
                         folder, name, name, kFashionMnistFolder);
}

// None where the folder has neither of its files.
absl::StatusOr<std::optional<ImageDataset>> LoadSet(const std::string& folder, const std::string& prefix,
                                                    int64_t classes) {
  const std::string images = prefix + kImages, labels = prefix + "-labels-idx1-ubyte";
  const std::optional<std::string> images_path = FindFile(folder, images), labels_path = FindFile(folder, labels);
  if (!images_path && !labels_path) return std::nullopt;
  if (!images_path) return Missing(folder, images);
  if (!labels_path) return Missing(folder, labels);
  return LoadIdxDataset(*images_path, *labels_path, classes);
}

// The product, or nothing above `limit`; every factor is at least 1.
bool FitsWithin(std::initializer_list<int64_t> factors, int64_t limit, int64_t& product) {
  product = 1;
  for (const int64_t factor : factors) {
    if (factor < 1 || __builtin_mul_overflow(product, factor, &product) || product > limit) return false;
  }
  return true;
}

void FillRandomBytes(uint64_t key, std::vector<uint8_t>& bytes) {
  constexpr size_t kBytesPerBlock = sizeof(PhiloxBlock);
  for (size_t begin = 0; begin < bytes.size(); begin += kBytesPerBlock) {
    const PhiloxBlock block = RandomBlock(key, 0, begin / kBytesPerBlock);
    for (size_t i = begin; i < std::min(bytes.size(), begin + kBytesPerBlock); ++i) {
      bytes[i] = static_cast<uint8_t>(block.lane[i % kBytesPerBlock / 4] >> (i % 4 * 8));
    }
  }
}

}  // namespace

absl::StatusOr<ImageDataset> LoadIdxDataset(const std::string& images_path, const std::string& labels_path,
                                            int64_t classes) {
  ASSIGN_OR_RETURN(Array images, ReadBytes(images_path));
  ASSIGN_OR_RETURN(const Array labels, ReadBytes(labels_path));
  ImageDataset dataset;
  ASSIGN_OR_RETURN(dataset.shape, ShapeOfImages(images, images_path));
  dataset.count = images.sizes[0];
  dataset.classes = classes;
  ASSIGN_OR_RETURN(dataset.labels, CheckedLabels(labels, dataset.count, classes, images_path, labels_path));
  dataset.images = std::move(images.bytes);
  return dataset;
}

absl::StatusOr<ImageSets> LoadMnistFolder(const std::string& folder, int64_t classes, NeededSets needed) {
  ImageSets sets;
  if (needed.train) {
    ASSIGN_OR_RETURN(sets.train, LoadSet(folder, "train", classes));
  }
  if (needed.test) {
    ASSIGN_OR_RETURN(sets.test, LoadSet(folder, "t10k", classes));
  }
  if (!sets.train && !sets.test) return Missing(folder, (needed.train ? "train" : "t10k") + std::string(kImages));
  if (!sets.train || !sets.test || sets.train->shape == sets.test->shape) return sets;
  const ImageShape& train = sets.train->shape;
  const ImageShape& test = sets.test->shape;
  return InvalidArgument("{}: found test images of {}x{}x{}, the training images are {}x{}x{}", folder, test.height,
                         test.width, test.channels, train.height, train.width, train.channels);
}

absl::StatusOr<ImageDataset> MakeMockDataset(int64_t count, ImageShape shape, int64_t classes, uint64_t seed) {
  int64_t bytes = 0;
  if (!FitsWithin({count, shape.height, shape.width, shape.channels}, kLargestMock, bytes)) {
    return InvalidArgument("mock data: found {} images of {}x{}x{}, allowed are sizes from 1 and at most {} bytes",
                           count, shape.height, shape.width, shape.channels, kLargestMock);
  }
  if (classes < 1 || classes > (1 << 24)) {
    return InvalidArgument("mock data: found {} classes, allowed are 1 to {}", classes, 1 << 24);
  }
  RETURN_IF_ERROR(
      CheckMemory(fmt::format("mock data of {} images of {}x{}x{}", count, shape.height, shape.width, shape.channels),
                  bytes + count * static_cast<int64_t>(sizeof(int32_t))));
  ImageDataset dataset{count, shape, classes, std::vector<uint8_t>(bytes), std::vector<int32_t>(count)};
  FillRandomBytes(PhiloxKey(seed, "mock images"), dataset.images);
  const uint64_t key = PhiloxKey(seed, "mock labels");
  for (int64_t i = 0; i < count; ++i) {
    // Below 2^24 classes the uniform number reaches every one of them, and never `classes` itself.
    dataset.labels[i] = static_cast<int32_t>(static_cast<double>(Uniform(key, 0, i)) * classes);
  }
  return dataset;
}

uint64_t Digest(const ImageDataset& dataset) {
  const int64_t sizes[] = {dataset.count, dataset.shape.height, dataset.shape.width, dataset.shape.channels,
                           dataset.classes};
  uint64_t hash = XXH3_64bits(sizes, sizeof(sizes));
  hash = XXH3_64bits_withSeed(dataset.images.data(), dataset.images.size(), hash);
  return XXH3_64bits_withSeed(dataset.labels.data(), dataset.labels.size() * sizeof(int32_t), hash);
}

}  // namespace partita
