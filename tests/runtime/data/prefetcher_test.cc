#include "runtime/data/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "runtime/data/image_batches.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

// Batch n has the label n in every row; counts what it was asked, can be slow and can fail.
class CountingSource : public BatchSource {
 public:
  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return 16; }
  int64_t batch_rows() const override { return 4; }
  int64_t batches_per_epoch() const override { return 4; }
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    ++fills_;
    if (batch == fails_at) return absl::InvalidArgumentError("shard 7 is damaged");
    std::this_thread::sleep_for(delay);
    EXPECT_EQ(static_cast<int64_t>(out[1].size()), rows.size() * int64_t{sizeof(int32_t)});
    int32_t* const labels = reinterpret_cast<int32_t*>(out[1].data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(labels) % alignof(int32_t), 0u);
    std::fill_n(labels, rows.size(), static_cast<int32_t>(batch));
    return absl::OkStatus();
  }
  int fills() const { return fills_; }

  int64_t fails_at = -1;
  std::chrono::microseconds delay{0};

 private:
  // The first one has an odd number of bytes.
  const std::vector<Field> fields_ = {{"bytes", DType::kU8, {3}}, {"labels", DType::kI32, {}}};
  mutable std::atomic<int> fills_{0};
};

int32_t Label(const Batch& batch, size_t row) {
  return reinterpret_cast<const int32_t*>(batch.parts[0].fields[1].data())[row];
}

std::unique_ptr<Prefetcher> Start(std::shared_ptr<const BatchSource> source, PrefetchOptions options) {
  auto prefetcher = Prefetcher::Start(std::move(source), std::move(options));
  EXPECT_TRUE(prefetcher.ok()) << prefetcher.status();
  return *std::move(prefetcher);
}

// Batches of 2^40 bytes.
class EndlessSource : public CountingSource {
 public:
  const std::vector<Field>& fields() const override { return fields_; }
  int64_t batch_rows() const override { return 1 << 20; }

 private:
  const std::vector<Field> fields_ = {{"images", DType::kU8, {1 << 10, 1 << 10}}};
};

TEST(Prefetcher, BatchesThatDoNotFitAreRefused) {
  const absl::Status status = Prefetcher::Start(std::make_shared<EndlessSource>(), {{{0, 1 << 20}}, 0, 1, 2}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("prefetch of 3 batches of 1048576 rows"));
}

class ExhaustedSource : public CountingSource {
 public:
  absl::Status FillChecked(int64_t, Rows, const FieldBuffers&) const override { throw std::bad_alloc(); }
};

TEST(Prefetcher, ASourceWithoutMemoryIsAnErrorAndNoEndOfTheProcess) {
  const auto prefetcher = Start(std::make_shared<ExhaustedSource>(), {{{0, 4}}, 0, 4, 2});
  EXPECT_EQ(prefetcher->Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Prefetcher, EveryRankGetsItsRowsOfEveryBatch) {
  const auto dataset = std::make_shared<const ImageDataset>(MakeMockDataset(21, {4, 3, 2}, 5, 1).value());
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    ImageBatchOptions images{BatchMode::kEvaluation, 4, 0, {}, MeasureNormalization(*dataset)};
    images.fields.pixels = images.fields.floating = dtype;
    const std::shared_ptr<const BatchSource> source = ImageBatches::Create(dataset, images).value();
    const std::vector<Rows> ranks = {{0, 3}, {3, 4}, {0, 3}, {4, 4}, {0, 4}};
    const auto prefetcher = Start(source, {ranks, 0, source->batches_per_epoch(), 2});
    for (int64_t b = 0; b < 6; ++b) {
      const auto batch = prefetcher->Next();
      ASSERT_TRUE(batch.ok() && *batch != nullptr);
      EXPECT_EQ((*batch)->number, b);
      ASSERT_EQ((*batch)->parts.size(), ranks.size());
      for (size_t r = 0; r < ranks.size(); ++r) {
        const BatchPart& part = (*batch)->parts[r];
        EXPECT_EQ(part.rows, ranks[r]);
        ASSERT_EQ(part.fields.size(), 3u);
        std::vector<std::vector<std::byte>> expected;
        FieldBuffers buffers;
        for (const Field& field : source->fields()) {
          expected.emplace_back(ranks[r].size() * field.row_bytes());
        }
        for (std::vector<std::byte>& bytes : expected) buffers.push_back(bytes);
        ASSERT_TRUE(source->Fill(b, ranks[r], buffers).ok());
        for (size_t f = 0; f < 3; ++f) {
          EXPECT_TRUE(std::ranges::equal(part.fields[f], expected[f])) << source->fields()[f].name;
        }
      }
    }
    EXPECT_EQ(prefetcher->Next().value(), nullptr);
    EXPECT_EQ(prefetcher->Next().value(), nullptr);
  }
}

// Batches of odd numbers are of the smaller of two buckets; all bytes are the batch's number.
class BucketSource : public BatchSource {
 public:
  const std::vector<Field>& fields() const override { return large_; }
  int64_t samples() const override { return 16; }
  int64_t batch_rows() const override { return 4; }
  int64_t batches_per_epoch() const override { return 4; }
  int64_t buckets() const override { return 2; }
  int64_t bucket(int64_t batch) const override { return batch % 2 == 0 ? 1 : 0; }
  const std::vector<Field>& fields_of(int64_t bucket) const override { return bucket == 1 ? large_ : small_; }
  absl::Status FillChecked(int64_t batch, Rows, const FieldBuffers& out) const override {
    for (const std::span<std::byte> bytes : out) std::ranges::fill(bytes, static_cast<std::byte>(batch));
    return absl::OkStatus();
  }

 private:
  const std::vector<Field> small_ = {{"source", DType::kI32, {2}}, {"ids", DType::kI32, {3}}};
  const std::vector<Field> large_ = {{"source", DType::kI32, {7}}, {"ids", DType::kI32, {5}}};
};

TEST(Prefetcher, FieldsAreAsLargeAsThoseOfTheBatchsBucket) {
  const auto source = std::make_shared<BucketSource>();
  const std::vector<Rows> ranks = {{0, 3}, {3, 4}, {4, 4}, {0, 3}};
  const auto prefetcher = Start(source, {ranks, 1, 9, 2});
  for (int64_t b = 1; b < 10; ++b) {
    const Batch* const batch = prefetcher->Next().value();
    ASSERT_EQ(batch->bucket, source->bucket(b));
    for (size_t r = 0; r < ranks.size(); ++r) {
      for (size_t f = 0; f < 2; ++f) {
        const std::span<const std::byte> bytes = batch->parts[r].fields[f];
        const Field& field = source->fields_of(batch->bucket)[f];
        ASSERT_EQ(static_cast<int64_t>(bytes.size()), ranks[r].size() * field.row_bytes());
        EXPECT_TRUE(std::ranges::all_of(bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(b); }));
      }
    }
  }
}

TEST(Prefetcher, GoesOnOverEpochsFromAnyBatch) {
  const auto prefetcher = Start(std::make_shared<CountingSource>(), {{{0, 4}}, 6, -1, 2});
  for (int64_t b = 6; b < 200; ++b) {
    const Batch* batch = prefetcher->Next().value();
    ASSERT_EQ(batch->number, b);
    ASSERT_EQ(batch->epoch, b / 4);
    ASSERT_EQ(Label(*batch, 3), b);
  }
}

// While the caller holds a batch, the thread fills exactly `depth` further ones and leaves that one alone.
TEST(Prefetcher, IsBoundedAndLeavesTheHeldBatchAlone) {
  for (const int64_t depth : {1, 2, 5}) {
    const auto source = std::make_shared<CountingSource>();
    const auto prefetcher = Start(source, {{{0, 4}}, 0, -1, depth});
    for (int64_t b = 0; b < 12; ++b) {
      const Batch* batch = prefetcher->Next().value();
      while (source->fills() < b + 1 + depth) std::this_thread::sleep_for(std::chrono::microseconds(50));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      EXPECT_EQ(source->fills(), b + 1 + depth);
      EXPECT_EQ(Label(*batch, 0), b);
    }
  }
}

TEST(Prefetcher, ErrorComesAfterTheBatchesBeforeItAndStays) {
  for (const int64_t fails_at : {0, 1, 5}) {
    const auto source = std::make_shared<CountingSource>();
    source->fails_at = fails_at;
    const auto prefetcher = Start(source, {{{0, 4}}, 0, -1, 3});
    for (int64_t b = 0; b < fails_at; ++b) EXPECT_EQ(prefetcher->Next().value()->number, b);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(prefetcher->Next().status().message(), "shard 7 is damaged");
  }
}

TEST(Prefetcher, StopEndsAWaitingNext) {
  const auto source = std::make_shared<CountingSource>();
  source->delay = std::chrono::milliseconds(20);
  const auto prefetcher = Start(source, {{{0, 4}}, 0, -1, 1});
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    prefetcher->Stop();
  });
  absl::Status status;
  while (status.ok()) status = prefetcher->Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(prefetcher->Next().status().code(), absl::StatusCode::kCancelled);
  stopper.join();
}

// Destroyed before, while and after it makes batches, full or empty, with and without a reader.
TEST(Prefetcher, EndsAtAnyMoment) {
  for (int i = 0; i < 200; ++i) {
    const auto source = std::make_shared<CountingSource>();
    source->delay = std::chrono::microseconds(i % 4 * 30);
    if (i % 5 == 4) source->fails_at = 2;
    auto prefetcher = Start(source, {{{0, 2}, {2, 4}}, 0, i % 7 == 6 ? 3 : -1, 1 + i % 3});
    for (int n = 0; n < i % 9; ++n) {
      if (!prefetcher->Next().ok()) break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(i % 11 * 20));
    prefetcher.reset();
    const int fills = source->fills();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    EXPECT_EQ(source->fills(), fills);
  }
}

TEST(Prefetcher, NoBatchesAtAll) {
  const auto prefetcher = Start(std::make_shared<CountingSource>(), {{{0, 4}}, 0, 0, 2});
  EXPECT_EQ(prefetcher->Next().value(), nullptr);
}

TEST(Prefetcher, RefusesWhatCannotWork) {
  const auto error = [](const PrefetchOptions& options) {
    const auto prefetcher = Prefetcher::Start(std::make_shared<CountingSource>(), options);
    return prefetcher.ok() ? "accepted" : std::string(prefetcher.status().message());
  };
  EXPECT_THAT(error({{{0, 5}}}), HasSubstr("found rows [0, 5), a batch has rows 0 to 4"));
  EXPECT_THAT(error({{{-1, 2}}}), HasSubstr("found rows [-1, 2)"));
  EXPECT_THAT(error({{{3, 2}}}), HasSubstr("found rows [3, 2)"));
  EXPECT_THAT(error({{{0, 4}}, -1}), HasSubstr("first batch -1"));
  EXPECT_THAT(error({{{0, 4}}, 0, -2}), HasSubstr("batch count -2"));
  EXPECT_THAT(error({{{0, 4}}, 0, -1, 0}), HasSubstr("depth 0"));
  EXPECT_EQ(error({{{0, 4}}}), "accepted");
}

}  // namespace
}  // namespace partita
