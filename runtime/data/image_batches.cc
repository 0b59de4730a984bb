#include "runtime/data/image_batches.h"

#include <algorithm>
#include <utility>

#include "runtime/base/philox.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Numbers of one batch: sizes in bytes stay far from the end of 64 bits.
constexpr int64_t kLargestBatch = int64_t{1} << 40;

bool IsReal(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

absl::Status CheckAugmentation(const ImageBatchOptions& options, ImageShape shape) {
  const Augmentation& augmentation = options.augmentation;
  if (options.mode == BatchMode::kEvaluation && (augmentation.shift != 0 || augmentation.flip)) {
    return InvalidArgument("augmentation: found one for an evaluation, allowed is it in training only");
  }
  const int64_t side = std::min(shape.height, shape.width);
  if (augmentation.shift < 0 || augmentation.shift >= side) {
    return InvalidArgument("augmentation: found a shift of {} pixels, allowed are 0 to {} for images of {}x{}",
                           augmentation.shift, side - 1, shape.height, shape.width);
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ImageBatchOptions& options, const ImageDataset& dataset) {
  RETURN_IF_ERROR(SampleOrder::Check(options.mode, dataset.count, options.batch_rows));
  int64_t numbers = dataset.shape.elements();
  if (__builtin_mul_overflow(numbers, options.batch_rows, &numbers) || numbers > kLargestBatch) {
    return InvalidArgument("batch: found {} rows of {} numbers, allowed are at most {} numbers", options.batch_rows,
                           dataset.shape.elements(), kLargestBatch);
  }
  const ImageFields& fields = options.fields;
  if ((!IsReal(fields.pixels) && fields.pixels != DType::kU8) || !IsReal(fields.floating)) {
    return InvalidArgument("batch: found images of {} and weights of {}, allowed are f32, f64 and images of u8",
                           Name(fields.pixels), Name(fields.floating));
  }
  RETURN_IF_ERROR(CheckAugmentation(options, dataset.shape));
  return CheckNormalization(options.normalization, dataset.shape.channels);
}

std::vector<Field> FieldsOf(const ImageFields& names, const ImageShape& shape) {
  return {{names.images, names.pixels, {shape.height, shape.width, shape.channels}},
          {names.labels, DType::kI32, {}},
          {names.weights, names.floating, {}}};
}

template <typename T>
std::vector<T> TableIf(bool wanted, const Normalization& normalization) {
  return wanted ? NormalizationTable<T>(normalization) : std::vector<T>();
}

std::vector<uint8_t> BytesIf(bool wanted, int64_t channels) {
  std::vector<uint8_t> table(wanted ? static_cast<size_t>(channels) * 256 : 0);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i % 256);
  return table;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ImageBatches>> ImageBatches::Create(std::shared_ptr<const ImageDataset> dataset,
                                                                   ImageBatchOptions options) {
  RETURN_IF_ERROR(CheckOptions(options, *dataset));
  return std::shared_ptr<ImageBatches>(new ImageBatches(std::move(dataset), std::move(options)));
}

ImageBatches::ImageBatches(std::shared_ptr<const ImageDataset> dataset, ImageBatchOptions options)
    : dataset_(std::move(dataset)),
      options_(std::move(options)),
      fields_(FieldsOf(options_.fields, dataset_->shape)),
      order_(options_.mode, dataset_->count, options_.batch_rows, options_.seed),
      augmentation_key_(PhiloxKey(options_.seed, kAugmentationName)),
      table_f32_(TableIf<float>(options_.fields.pixels == DType::kF32, options_.normalization)),
      table_f64_(TableIf<double>(options_.fields.pixels == DType::kF64, options_.normalization)),
      table_u8_(BytesIf(options_.fields.pixels == DType::kU8, dataset_->shape.channels)) {}

absl::Status ImageBatches::FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const {
  if (options_.fields.pixels == DType::kF32) {
    FillRows(batch, rows, table_f32_, out);
  } else if (options_.fields.pixels == DType::kF64) {
    FillRows(batch, rows, table_f64_, out);
  } else {
    FillRows(batch, rows, table_u8_, out);
  }
  return absl::OkStatus();
}

template <typename T>
void ImageBatches::FillRows(int64_t batch, Rows rows, const std::vector<T>& table, const FieldBuffers& out) const {
  const bool training = options_.mode == BatchMode::kTraining;
  const int64_t epoch = batch / batches_per_epoch();
  const int64_t elements = dataset_->shape.elements();
  T* const images = reinterpret_cast<T*>(out[0].data());
  int32_t* const labels = reinterpret_cast<int32_t*>(out[1].data());
  const std::vector<int64_t> samples = order_.Samples(batch, rows);
  order_.WriteWeights(batch, samples, options_.fields.floating, out[2]);
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int64_t sample = samples[i] == SampleOrder::kNoSample ? 0 : samples[i];
    const Transform transform =
        training ? DrawTransform(options_.augmentation, augmentation_key_, epoch, sample) : Transform{};
    FillImage(sample, transform, table, images + i * elements);
    labels[i] = dataset_->labels[sample];
  }
}

template <typename T>
void ImageBatches::FillImage(int64_t sample, const Transform& transform, const std::vector<T>& table, T* out) const {
  const auto [height, width, channels] = dataset_->shape;
  const uint8_t* image = dataset_->image(sample).data();
  const bool zero = options_.augmentation.border == Border::kZero;
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from_y = y - transform.dy;
    const uint8_t* row = image + std::clamp<int64_t>(from_y, 0, height - 1) * width * channels;
    const bool row_outside = from_y < 0 || from_y >= height;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t from_x = (transform.flip ? width - 1 - x : x) - transform.dx;
      const bool outside = row_outside || from_x < 0 || from_x >= width;
      const uint8_t* pixel = row + std::clamp<int64_t>(from_x, 0, width - 1) * channels;
      for (int64_t c = 0; c < channels; ++c) *out++ = table[c * 256 + (outside && zero ? 0 : pixel[c])];
    }
  }
}

}  // namespace partita
