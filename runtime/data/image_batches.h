// Batches of an ImageDataset.
//
//   training     each epoch is a permutation of the whole set by (seed, epoch); batch b is its b-th slice, the last
//                partial one is dropped; augmentation if asked for; all weights 1
//   evaluation   the set in its own order; the last batch is filled up with rows of zeros, label 0 and weight 0, and
//                its samples weigh more, so that its mean is that of its samples
//
// Pixels are normalised to (x / 255 - mean) / deviation. Thread-safe; holds the dataset alive.
#ifndef PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_
#define PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/image_dataset.h"
#include "runtime/data/normalization.h"

namespace partita {

enum class BatchMode { kTraining, kEvaluation };

// The fields in their order: images [height, width, channels], labels i32 [], weights []: what a row counts in a mean
// over the rows of the batch, so that it is one over the samples. 1 where the batch is full, else rows / samples for a
// sample and 0 for a row that only fills the batch up.
struct ImageFields {
  std::string images = "images", labels = "labels", weights = "weights";
  DType dtype = DType::kF32;  // of images and weights: kF32 or kF64
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
  // image, augmentation of an evaluation, a normalization that does not fit, images that are neither f32 nor f64.
  static absl::StatusOr<std::shared_ptr<ImageBatches>> Create(std::shared_ptr<const ImageDataset> dataset,
                                                              ImageBatchOptions options);

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override;
  int64_t batch_rows() const override { return options_.batch_rows; }
  int64_t batches_per_epoch() const override;
  absl::Status Fill(int64_t batch, Rows rows, const FieldBuffers& out) const override;

 private:
  using Order = std::shared_ptr<const std::vector<uint32_t>>;

  ImageBatches(std::shared_ptr<const ImageDataset> dataset, ImageBatchOptions options);

  Order OrderOf(int64_t epoch) const;
  template <typename T>
  void FillRows(int64_t batch, Rows rows, const std::vector<T>& table, const FieldBuffers& out) const;
  template <typename T>
  void FillImage(int64_t sample, const Transform& transform, const std::vector<T>& table, T* out) const;

  const std::shared_ptr<const ImageDataset> dataset_;
  const ImageBatchOptions options_;
  const std::vector<Field> fields_;
  const uint64_t augmentation_key_;
  // Of the fields' type; the other one is empty.
  const std::vector<float> table_f32_;
  const std::vector<double> table_f64_;

  // The permutation of the epoch asked for last: all ranks and most batches want the same one.
  mutable std::mutex mutex_;
  mutable int64_t epoch_ = -1;
  mutable Order order_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_
