// Batches of an ImageDataset, in the order of runtime/data/sample_order.h.
//
// Training images are augmented if asked for; rows that fill up the last batch of an evaluation are the first image.
// Thread-safe; holds the dataset alive.
#ifndef PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_
#define PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/image_dataset.h"
#include "runtime/data/normalization.h"
#include "runtime/data/sample_order.h"

namespace partita {

// The fields in their order: images [height, width, channels], labels i32 [], weights []: what a row counts in a mean
// over the rows of the batch, so that it is one over the samples. 1 where the batch is full, else rows / samples for a
// sample and 0 for a row that only fills the batch up.
struct ImageFields {
  std::string images = "images", labels = "labels", weights = "weights";
  // Of the images: kF32 or kF64, (x / 255 - mean) / deviation; or kU8, bytes as they are.
  DType pixels = DType::kF32;
  DType floating = DType::kF32;  // of the weights: kF32 or kF64
};

struct ImageBatchOptions {
  BatchMode mode = BatchMode::kTraining;
  int64_t batch_rows = 0;
  uint64_t seed = 0;
  Augmentation augmentation;  // training only
  Normalization normalization;
  ImageFields fields = {};
};

class ImageBatches : public BatchSource {
 public:
  // kInvalidArgument: no samples, fewer samples than a training batch, a batch without rows, a shift as large as the
  // image, augmentation of an evaluation, a normalization that does not fit, element types that cannot be.
  static absl::StatusOr<std::shared_ptr<ImageBatches>> Create(std::shared_ptr<const ImageDataset> dataset,
                                                              ImageBatchOptions options);

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return order_.samples(); }
  int64_t batch_rows() const override { return options_.batch_rows; }
  int64_t batches_per_epoch() const override { return order_.batches_per_epoch(); }

 private:
  ImageBatches(std::shared_ptr<const ImageDataset> dataset, ImageBatchOptions options);
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override;

  template <typename T>
  void FillRows(int64_t batch, Rows rows, const std::vector<T>& table, const FieldBuffers& out) const;
  template <typename T>
  void FillImage(int64_t sample, const Transform& transform, const std::vector<T>& table, T* out) const;

  const std::shared_ptr<const ImageDataset> dataset_;
  const ImageBatchOptions options_;
  const std::vector<Field> fields_;
  const SampleOrder order_;
  const uint64_t augmentation_key_;
  // Of the images' type; the others are empty. Of bytes it is what each is: itself.
  const std::vector<float> table_f32_;
  const std::vector<double> table_f64_;
  const std::vector<uint8_t> table_u8_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_
