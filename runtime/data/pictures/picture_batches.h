// Batches of a PictureSet, in the order of runtime/data/sample_order.h. Pictures are read and decoded when their rows
// are asked for, of those rows alone, by DecodeThreads of any number: what a row holds depends on the sample and the
// epoch.
//
// A picture that turns out to be damaged is an error, or is skipped: training uses the next sample of the set instead,
// and an evaluation needs a set from which DropDamaged has removed such pictures.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_PICTURE_BATCHES_H_
#define PARTITA_RUNTIME_DATA_PICTURES_PICTURE_BATCHES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/normalization.h"
#include "runtime/data/pictures/bad_files.h"
#include "runtime/data/pictures/decode_threads.h"
#include "runtime/data/pictures/picture_set.h"
#include "runtime/data/pictures/transform/view.h"
#include "runtime/data/sample_order.h"

namespace partita {

// The fields in their order: pictures [height, width, channels], labels i32 [], weights [] (what a row counts in a mean
// over the rows of the batch, as ImageBatches has it).
struct PictureFields {
  std::string pictures = "images", labels = "labels", weights = "weights";
  // Of the pictures: kF32 or kF64, (x / 255 - mean) / deviation; or kU8, bytes as they are.
  DType pixels = DType::kF32;
  DType floating = DType::kF32;  // of the weights: kF32 or kF64
};

struct PictureBatchOptions {
  BatchMode mode = BatchMode::kTraining;
  int64_t batch_rows = 0;
  uint64_t seed = 0;
  int channels = 3;             // 1: grey
  ViewOptions views;            // an evaluation shows the middle
  Normalization normalization;  // one mean and deviation by channel
  PictureFields fields = {};
  BadFilePolicy bad_files = BadFilePolicy::kStop;
  std::function<void(const std::string&)> warn = [](const std::string&) {
  };  // called once for each skipped picture, on any thread
};

class PictureBatches : public BatchSource {
 public:
  // kInvalidArgument: what SampleOrder refuses, sizes, element types or a normalization that cannot be.
  static absl::StatusOr<std::shared_ptr<PictureBatches>> Create(std::shared_ptr<const PictureSet> set,
                                                                std::shared_ptr<DecodeThreads> threads,
                                                                PictureBatchOptions options);

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return order_.samples(); }
  int64_t batch_rows() const override { return options_.batch_rows; }
  int64_t batches_per_epoch() const override { return order_.batches_per_epoch(); }
  // Its path below the set's folder.
  std::string name_of(int64_t sample) const override { return set_->samples[static_cast<size_t>(sample)].name; }

  // The number of pictures skipped so far.
  int64_t left_out() const;

 private:
  PictureBatches(std::shared_ptr<const PictureSet> set, std::shared_ptr<DecodeThreads> threads,
                 PictureBatchOptions options);
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override;

  absl::Status FillRow(int64_t epoch, int64_t sample, std::span<std::byte> pixels, int32_t& label) const;
  absl::Status Show(int64_t epoch, int64_t sample, std::span<uint8_t> shown) const;
  void Write(std::span<const uint8_t> shown, std::span<std::byte> pixels) const;
  absl::Status LeaveOut(int64_t sample, const absl::Status& bad) const;

  const std::shared_ptr<const PictureSet> set_;
  const std::shared_ptr<DecodeThreads> threads_;
  const PictureBatchOptions options_;
  const std::vector<Field> fields_;
  const SampleOrder order_;
  const uint64_t view_key_;
  // Of the fields' type; the others are empty.
  const std::vector<float> table_f32_;
  const std::vector<double> table_f64_;

  mutable std::mutex mutex_;
  mutable std::set<int64_t> left_out_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_PICTURE_BATCHES_H_
