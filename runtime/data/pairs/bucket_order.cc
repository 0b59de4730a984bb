#include "runtime/data/pairs/bucket_order.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "runtime/data/permutation.h"

namespace partita {
namespace {

// So that the order of batches is not that of samples: any number that is not 0.
constexpr uint64_t kBatches = 0x6261746368657321;

std::vector<uint32_t> InOrder(int64_t count) {
  std::vector<uint32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The same samples, bucket by bucket, in each of them as they stood (counting sort: Knuth, TAOCP 3, 5.2, algorithm D).
std::vector<uint32_t> ByBucket(const std::vector<uint32_t>& samples, const std::vector<uint8_t>& bucket_of) {
  std::array<size_t, 257> first = {};  // of each bucket, in the result
  for (const uint8_t bucket : bucket_of) ++first[bucket + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> sorted(samples.size());
  for (const uint32_t sample : samples) sorted[first[bucket_of[sample]]++] = sample;
  return sorted;
}

}  // namespace

BucketOrder::BucketOrder(BatchMode mode, std::vector<uint8_t> buckets, int64_t batch_rows, uint64_t seed)
    : mode_(mode),
      bucket_of_(std::move(buckets)),
      batch_rows_(batch_rows),
      seed_(seed),
      batches_(mode == BatchMode::kTraining ? count() / batch_rows : (count() + batch_rows - 1) / batch_rows) {}

int64_t BucketOrder::samples() const { return std::min(count(), batches_ * batch_rows_); }

int64_t BucketOrder::bucket(int64_t batch) const {
  const std::shared_ptr<const Epoch> epoch = EpochOf(batch);
  const int64_t end = (int64_t{epoch->batches[batch % batches_]} + 1) * batch_rows_;
  return bucket_of_[epoch->samples[std::min(end, count()) - 1]];
}

std::vector<int64_t> BucketOrder::Samples(int64_t batch, Rows rows) const {
  const std::shared_ptr<const Epoch> epoch = EpochOf(batch);
  const int64_t first = int64_t{epoch->batches[batch % batches_]} * batch_rows_ + rows.begin;
  std::vector<int64_t> samples(static_cast<size_t>(rows.size()), SampleOrder::kNoSample);
  for (int64_t i = 0; i < rows.size() && first + i < count(); ++i) samples[i] = epoch->samples[first + i];
  return samples;
}

std::shared_ptr<const BucketOrder::Epoch> BucketOrder::EpochOf(int64_t batch) const {
  const int64_t number = mode_ == BatchMode::kTraining ? batch / batches_ : 0;
  const std::lock_guard lock(mutex_);
  if (epoch_ == nullptr || epoch_->number != number) epoch_ = std::make_shared<const Epoch>(Draw(number));
  return epoch_;
}

BucketOrder::Epoch BucketOrder::Draw(int64_t number) const {
  if (mode_ == BatchMode::kEvaluation) return {number, ByBucket(InOrder(count()), bucket_of_), InOrder(batches_)};
  return {number, ByBucket(EpochPermutation(seed_, number, count()), bucket_of_),
          EpochPermutation(seed_ ^ kBatches, number, batches_)};
}

}  // namespace partita
