// The samples of a batch if each batch has one bucket: a pure function of the seed and the batch's number.
//
// Samples stand bucket by bucket, the smallest first, and every R of them are a batch, of the bucket of its last one:
// what is left of a bucket, too few for a batch, fits into the next larger one and goes there. So however many buckets
// there are, an epoch has the batches that it would have without them.
//
//   training     within a bucket samples stand in an order drawn by (seed, epoch), and so do batches in the epoch; the
//                last samples of the largest bucket, too few for a batch, are dropped
//   evaluation   within a bucket samples stand in the order of the set, and batches as they were made; the last one is
//                filled up
//
// Thread-safe.
#ifndef PARTITA_RUNTIME_DATA_PAIRS_BUCKET_ORDER_H_
#define PARTITA_RUNTIME_DATA_PAIRS_BUCKET_ORDER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/data/batch_source.h"
#include "runtime/data/sample_order.h"

namespace partita {

class BucketOrder {
 public:
  // `buckets`: of each sample, below 256. What SampleOrder::Check allows.
  BucketOrder(BatchMode mode, std::vector<uint8_t> buckets, int64_t batch_rows, uint64_t seed);

  int64_t batches_per_epoch() const { return batches_; }
  int64_t samples() const;  // in one epoch
  int64_t bucket(int64_t batch) const;

  // The sample of each of these rows of batch `batch`; SampleOrder::kNoSample: the row only fills the batch up.
  std::vector<int64_t> Samples(int64_t batch, Rows rows) const;

 private:
  struct Epoch {
    int64_t number = -1;
    std::vector<uint32_t> samples;  // bucket by bucket
    std::vector<uint32_t> batches;  // which of those that are made of them is the first, the second, ...
  };

  int64_t count() const { return static_cast<int64_t>(bucket_of_.size()); }
  std::shared_ptr<const Epoch> EpochOf(int64_t batch) const;
  Epoch Draw(int64_t number) const;

  const BatchMode mode_;
  const std::vector<uint8_t> bucket_of_;
  const int64_t batch_rows_;
  const uint64_t seed_;
  const int64_t batches_;

  // The epoch asked for last: all ranks and most batches want the same one.
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Epoch> epoch_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PAIRS_BUCKET_ORDER_H_
