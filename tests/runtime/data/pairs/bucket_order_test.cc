// Which pairs batches have: each once in an epoch, none where it does not fit, in an order of the seed and the epoch
// alone.
#include "runtime/data/pairs/bucket_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace partita {
namespace {

// Of 3 buckets, in which there are 7, 12 and 4 samples.
std::vector<uint8_t> Buckets() {
  std::vector<uint8_t> buckets;
  for (int i = 0; i < 23; ++i) buckets.push_back(i % 3 == 0 && i < 20 ? 0 : i % 5 == 4 ? 2 : 1);
  return buckets;
}

std::vector<int64_t> EpochOf(const BucketOrder& order, int64_t epoch, int64_t rows) {
  std::vector<int64_t> samples;
  for (int64_t b = 0; b < order.batches_per_epoch(); ++b) {
    const std::vector<int64_t> of_batch = order.Samples(epoch * order.batches_per_epoch() + b, {0, rows});
    samples.insert(samples.end(), of_batch.begin(), of_batch.end());
  }
  return samples;
}

TEST(BucketOrder, DropsFewerThanABatchHoweverManyBucketsThereAre) {
  for (const int64_t rows : {1, 2, 4, 5, 8, 23}) {
    const BucketOrder order(BatchMode::kTraining, Buckets(), rows, 3);
    EXPECT_EQ(order.batches_per_epoch(), 23 / rows);
    EXPECT_EQ(order.samples(), 23 / rows * rows);
    for (const int64_t epoch : {0, 1, 7}) {
      std::vector<int64_t> samples = EpochOf(order, epoch, rows);
      EXPECT_EQ(std::set(samples.begin(), samples.end()).size(), static_cast<size_t>(order.samples()));
      EXPECT_GE(std::ranges::min(samples), 0);
      EXPECT_LT(std::ranges::max(samples), 23);
    }
  }
}

TEST(BucketOrder, SamplesFitIntoTheirBatchAndOneOfThemNeedsIt) {
  const std::vector<uint8_t> buckets = Buckets();
  for (const BatchMode mode : {BatchMode::kTraining, BatchMode::kEvaluation}) {
    for (const int64_t rows : {1, 3, 4, 9}) {
      const BucketOrder order(mode, buckets, rows, 3);
      for (int64_t b = 0; b < 3 * order.batches_per_epoch(); ++b) {
        int64_t largest = 0;
        for (const int64_t sample : order.Samples(b, {0, rows})) {
          if (sample != SampleOrder::kNoSample) largest = std::max<int64_t>(largest, buckets[sample]);
        }
        EXPECT_EQ(order.bucket(b), largest) << rows << " rows, batch " << b;
      }
    }
  }
}

TEST(BucketOrder, IsDrawnBySeedAndEpochWhateverWasAskedBefore) {
  const BucketOrder order(BatchMode::kTraining, Buckets(), 4, 3), same(BatchMode::kTraining, Buckets(), 4, 3),
      other(BatchMode::kTraining, Buckets(), 4, 4);
  const std::vector<int64_t> first = EpochOf(order, 0, 4), second = EpochOf(order, 1, 4);
  EXPECT_NE(first, second);
  EXPECT_EQ(EpochOf(same, 1, 4), second);
  EXPECT_EQ(EpochOf(same, 0, 4), first);
  EXPECT_NE(EpochOf(other, 0, 4), first);
  // Batches of a bucket do not follow each other: of 30 epochs in some the first one is not of the smallest.
  std::set<int64_t> first_buckets;
  for (int64_t epoch = 0; epoch < 30; ++epoch) first_buckets.insert(order.bucket(epoch * order.batches_per_epoch()));
  EXPECT_GT(first_buckets.size(), 1u);
}

TEST(BucketOrder, RowsAreThoseOfTheWholeBatchWhoeverAsks) {
  for (const BatchMode mode : {BatchMode::kTraining, BatchMode::kEvaluation}) {
    const BucketOrder order(mode, Buckets(), 5, 3);
    for (int64_t b = 2 * order.batches_per_epoch() - 1; b >= 0; --b) {
      const std::vector<int64_t> whole = order.Samples(b, {0, 5});
      for (int64_t row = 0; row < 5; ++row) {
        EXPECT_EQ(order.Samples(b, {row, row + 1}), std::vector<int64_t>({whole[row]}));
      }
    }
  }
}

TEST(BucketOrder, AnEvaluationHasEachSampleOnceAndFillsTheLastBatchUp) {
  const BucketOrder order(BatchMode::kEvaluation, Buckets(), 5, 3);
  EXPECT_EQ(order.batches_per_epoch(), 5);
  EXPECT_EQ(order.samples(), 23);
  std::vector<int64_t> samples = EpochOf(order, 0, 5);
  EXPECT_EQ(std::vector(samples.end() - 2, samples.end()), std::vector<int64_t>(2, SampleOrder::kNoSample));
  samples.resize(23);
  EXPECT_EQ(std::set(samples.begin(), samples.end()).size(), 23u);
  // The order of the set, where there is one bucket.
  const BucketOrder alone(BatchMode::kEvaluation, std::vector<uint8_t>(7, 0), 3, 3);
  EXPECT_EQ(alone.Samples(1, {0, 3}), std::vector<int64_t>({3, 4, 5}));
  EXPECT_EQ(alone.Samples(2, {0, 3}), std::vector<int64_t>({6, -1, -1}));
}

}  // namespace
}  // namespace partita
