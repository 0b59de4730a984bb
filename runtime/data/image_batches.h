// Batches of an ImageDataset.
//
//   training     each epoch is a permutation of the whole set by (seed, epoch); batch b is its b-th slice, the last
//   partial
//                one is dropped; augmentation if asked for; all weights 1
//   evaluation   the set in its own order; the last batch is filled up with rows of zeros, label 0 and weight 0, so
//   that
//                each sample counts exactly once whatever the batch size
//
// Pixels are normalised to (x / 255 - mean) / deviation. Thread-safe; holds the dataset alive.
#ifndef PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_
#define PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/image_dataset.h"
#include "runtime/data/normalization.h"

namespace partita {

enum class BatchMode { kTraining, kEvaluation };

struct ImageBatchOptions {
  BatchMode mode = BatchMode::kTraining;
  int64_t batch_rows = 0;
  uint64_t seed = 0;
  Augmentation augmentation;  // training only
  Normalization normalization;
};

class ImageBatches : public BatchSource {
 public:
  // kInvalidArgument: no samples, fewer samples than a training batch, a batch without rows, a shift as large as the
  // image, augmentation of an evaluation, a normalization that does not fit.
  static absl::StatusOr<std::shared_ptr<ImageBatches>> Create(std::shared_ptr<const ImageDataset> dataset,
                                                              ImageBatchOptions options);

  ImageShape shape() const override { return dataset_->shape; }
  int64_t classes() const override { return dataset_->classes; }
  int64_t samples() const override;
  int64_t batch_rows() const override { return options_.batch_rows; }
  int64_t batches_per_epoch() const override;
  absl::Status Fill(int64_t batch, Rows rows, const BatchBuffers& out) const override;

 private:
  using Order = std::shared_ptr<const std::vector<uint32_t>>;

  ImageBatches(std::shared_ptr<const ImageDataset> dataset, ImageBatchOptions options);

  Order OrderOf(int64_t epoch) const;
  template <typename T>
  void FillRows(int64_t batch, Rows rows, const std::vector<T>& table, const BatchBuffers& out) const;
  template <typename T>
  void FillImage(int64_t sample, const Transform& transform, const std::vector<T>& table, T* out) const;

  const std::shared_ptr<const ImageDataset> dataset_;
  const ImageBatchOptions options_;
  const uint64_t augmentation_key_;
  const std::vector<float> table_f32_;
  const std::vector<double> table_f64_;

  // The permutation of the epoch asked for last: all ranks and most batches want the same one.
  mutable std::mutex mutex_;
  mutable int64_t epoch_ = -1;
  mutable Order order_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_IMAGE_BATCHES_H_
