// The sample of each row of each batch: a pure function of the seed and the batch's number.
//
//   training     each epoch is a permutation of the whole set by (seed, epoch); batch b is its b-th slice, the last
//                partial one is dropped; all weights 1
//   evaluation   the set in its own order; the last batch is filled up with rows of weight 0, and its samples weigh
//                more, so that its mean is that of its samples
//
// Thread-safe.
#ifndef PARTITA_RUNTIME_DATA_SAMPLE_ORDER_H_
#define PARTITA_RUNTIME_DATA_SAMPLE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/dtype.h"
#include "runtime/data/batch_source.h"

namespace partita {

enum class BatchMode { kTraining, kEvaluation };

class SampleOrder {
 public:
  // kInvalidArgument: no samples or too many, a batch without rows, fewer samples than a training batch.
  static absl::Status Check(BatchMode mode, int64_t samples, int64_t batch_rows);

  // What Check allows.
  SampleOrder(BatchMode mode, int64_t samples, int64_t batch_rows, uint64_t seed)
      : mode_(mode), count_(samples), batch_rows_(batch_rows), seed_(seed) {}

  int64_t batch_rows() const { return batch_rows_; }
  int64_t batches_per_epoch() const;
  int64_t samples() const;  // in one epoch

  // The sample of each of these rows of batch `batch`; -1: the row only fills the batch up.
  static constexpr int64_t kNoSample = -1;
  std::vector<int64_t> Samples(int64_t batch, Rows rows) const;

  // What each of these samples of that batch counts in a mean over its rows: f32 or f64, an element each.
  void WriteWeights(int64_t batch, const std::vector<int64_t>& samples, DType dtype, std::span<std::byte> out) const;

 private:
  using Order = std::shared_ptr<const std::vector<uint32_t>>;

  double Weight(int64_t batch) const;
  int64_t FirstPosition(int64_t batch) const { return batch % batches_per_epoch() * batch_rows_; }
  Order OrderOf(int64_t epoch) const;

  const BatchMode mode_;
  const int64_t count_;
  const int64_t batch_rows_;
  const uint64_t seed_;

  // The permutation of the epoch asked for last: all ranks and most batches want the same one.
  mutable std::mutex mutex_;
  mutable int64_t epoch_ = -1;
  mutable Order order_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_SAMPLE_ORDER_H_
