#include "runtime/data/image_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/base/philox.h"
#include "runtime/data/permutation.h"

namespace partita {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;

template <typename T>
struct Filled {
  std::vector<T> images, weights;
  std::vector<int32_t> labels;
};

template <typename T>
Filled<T> Fill(const BatchSource& source, int64_t batch, Rows rows) {
  // What was there before must not matter.
  Filled<T> out{std::vector<T>(rows.size() * Elements(source.fields()[0].row), T{77}),
                std::vector<T>(rows.size(), T{77}), std::vector<int32_t>(rows.size(), 77)};
  const FieldBuffers buffers{std::as_writable_bytes(std::span(out.images)),
                             std::as_writable_bytes(std::span(out.labels)),
                             std::as_writable_bytes(std::span(out.weights))};
  EXPECT_TRUE(source.Fill(batch, rows, buffers).ok());
  return out;
}

// Each sample's label is its index and each of its pixels too, so that a batch tells which samples it has.
std::shared_ptr<const ImageDataset> Numbered(int64_t count, ImageShape shape = {2, 2, 1}) {
  auto dataset = std::make_shared<ImageDataset>(ImageDataset{count, shape, count, {}, {}});
  for (int64_t i = 0; i < count; ++i) {
    dataset->images.insert(dataset->images.end(), shape.elements(), static_cast<uint8_t>(i));
    dataset->labels.push_back(static_cast<int32_t>(i));
  }
  return dataset;
}

std::shared_ptr<const ImageDataset> Mock(int64_t count, ImageShape shape) {
  return std::make_shared<const ImageDataset>(MakeMockDataset(count, shape, 10, 5).value());
}

ImageBatchOptions Options(BatchMode mode, int64_t rows, int64_t channels = 1) {
  return {mode, rows, 9, {}, NoNormalization(channels)};
}

std::shared_ptr<ImageBatches> Make(std::shared_ptr<const ImageDataset> dataset, ImageBatchOptions options,
                                   DType dtype = DType::kF32) {
  options.fields.pixels = options.fields.floating = dtype;
  auto batches = ImageBatches::Create(std::move(dataset), std::move(options));
  EXPECT_TRUE(batches.ok()) << batches.status();
  return *batches;
}

TEST(Permutation, IsOneAndDependsOnSeedAndEpoch) {
  std::set<std::vector<uint32_t>> seen;
  for (const uint64_t seed : {0u, 1u}) {
    for (const int64_t epoch : {0, 1, 2}) {
      const std::vector<uint32_t> order = EpochPermutation(seed, epoch, 1000);
      EXPECT_EQ(order, EpochPermutation(seed, epoch, 1000));
      std::vector<uint32_t> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      for (uint32_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
      seen.insert(order);
    }
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_TRUE(EpochPermutation(0, 0, 0).empty());
  EXPECT_EQ(EpochPermutation(0, 0, 1), std::vector<uint32_t>{0});
}

// All 24 orders of four, each near its share: chi-square with 23 degrees of freedom is below 58 with 0.9999.
TEST(Permutation, OrdersAreEquallyLikely) {
  std::map<std::vector<uint32_t>, int> counts;
  const int rounds = 24'000;
  for (int epoch = 0; epoch < rounds; ++epoch) ++counts[EpochPermutation(3, epoch, 4)];
  ASSERT_EQ(counts.size(), 24u);
  double chi = 0;
  for (const auto& [order, count] : counts) chi += (count - 1000.0) * (count - 1000.0) / 1000;
  EXPECT_LT(chi, 58);
}

TEST(ImageBatches, TrainingBatchesAreSlicesOfThePermutation) {
  const auto batches = Make(Numbered(50), Options(BatchMode::kTraining, 8));
  EXPECT_EQ(batches->batches_per_epoch(), 6);  // the two left over are dropped
  EXPECT_EQ(batches->samples(), 48);
  for (const int64_t epoch : {0, 1, 7}) {
    const std::vector<uint32_t> order = EpochPermutation(9, epoch, 50);
    for (int64_t b = 0; b < 6; ++b) {
      const auto filled = Fill<float>(*batches, epoch * 6 + b, {0, 8});
      for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(filled.labels[i], static_cast<int32_t>(order[b * 8 + i]));
        EXPECT_EQ(filled.images[i * 4], static_cast<float>(order[b * 8 + i] / 255.0));
      }
      EXPECT_THAT(filled.weights, Each(1.0f));
    }
  }
}

template <typename T>
void ExpectSplitIsTheWhole(const BatchSource& source, int64_t batch, const std::vector<int64_t>& cuts) {
  const int64_t elements = Elements(source.fields()[0].row);
  const Filled<T> whole = Fill<T>(source, batch, {0, source.batch_rows()});
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Filled<T> part = Fill<T>(source, batch, {cuts[i], cuts[i + 1]});
    EXPECT_TRUE(std::equal(part.images.begin(), part.images.end(), whole.images.begin() + cuts[i] * elements));
    EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.end(), whole.labels.begin() + cuts[i]));
    EXPECT_TRUE(std::equal(part.weights.begin(), part.weights.end(), whole.weights.begin() + cuts[i]));
  }
}

TEST(ImageBatches, RowsAreTheSameHoweverTheyAreSplit) {
  ImageBatchOptions augmented = Options(BatchMode::kTraining, 7, 3);
  augmented.augmentation = {2, Border::kEdge, true};
  for (const ImageBatchOptions& options : {augmented, Options(BatchMode::kEvaluation, 7, 3)}) {
    const auto f32 = Make(Mock(24, {5, 6, 3}), options), f64 = Make(Mock(24, {5, 6, 3}), options, DType::kF64);
    for (int64_t batch = 0; batch < f32->batches_per_epoch(); ++batch) {
      for (const std::vector<int64_t>& cuts :
           {std::vector<int64_t>{0, 4, 7}, {0, 3, 5, 7}, {0, 0, 7, 7}, {0, 1, 2, 7}}) {
        ExpectSplitIsTheWhole<float>(*f32, batch, cuts);
        ExpectSplitIsTheWhole<double>(*f64, batch, cuts);
      }
    }
  }
}

// In a mean over the rows of a batch as much as in one over its samples.
TEST(ImageBatches, EvaluationCountsEachSampleOnce) {
  for (const int64_t count : {1, 5, 8, 17, 24}) {
    for (const int64_t rows : {1, 3, 8, 64}) {
      const auto batches = Make(Numbered(count), Options(BatchMode::kEvaluation, rows), DType::kF64);
      EXPECT_EQ(batches->samples(), count);
      std::vector<double> seen(count);
      for (int64_t b = 0; b < batches->batches_per_epoch(); ++b) {
        const auto filled = Fill<double>(*batches, b, {0, rows});
        const double samples = static_cast<double>(std::min(rows, count - b * rows));
        for (int64_t i = 0; i < rows; ++i) {
          seen.at(filled.labels[i]) += filled.weights[i] / static_cast<double>(rows) * samples;
          if (filled.weights[i] > 0) continue;
          EXPECT_GE(i, samples);
          EXPECT_TRUE(filled.images[i * 4] == 0 && filled.labels[i] == 0);
        }
      }
      EXPECT_THAT(seen, Each(DoubleNear(1, 1e-15))) << count << " in batches of " << rows;
    }
  }
}

TEST(ImageBatches, NormalisedInBothTypes) {
  ImageBatchOptions options = Options(BatchMode::kEvaluation, 3);
  options.normalization = {{0.25}, {0.5}};
  const auto f64 = Fill<double>(*Make(Numbered(256, {1, 1, 1}), options, DType::kF64), 85,
                                {0, 3});  // sample 255, then two rows to fill up: the first sample
  EXPECT_EQ(f64.images[0], (1 - 0.25) / 0.5);
  EXPECT_EQ(f64.images[1], (0 - 0.25) / 0.5);
  const auto f32 = Fill<float>(*Make(Numbered(256, {1, 1, 1}), options), 30, {0, 3});
  EXPECT_EQ(f32.images[1], static_cast<float>((91 / 255.0 - 0.25) / 0.5));
}

TEST(ImageBatches, AnEpochIsRepeatedExactlyAfterOthers) {
  ImageBatchOptions options = Options(BatchMode::kTraining, 4);
  options.augmentation = {1, Border::kZero, true};
  const auto batches = Make(Mock(20, {4, 4, 1}), options);
  const auto first = Fill<float>(*batches, 2, {0, 4});
  Fill<float>(*batches, 17, {0, 4});
  EXPECT_EQ(Fill<float>(*batches, 2, {0, 4}).images, first.images);
  EXPECT_NE(Fill<float>(*batches, 7, {0, 4}).images, first.images);
}

TEST(ImageBatches, ThreadsGetTheSameRows) {
  const auto batches = Make(Mock(64, {4, 4, 1}), Options(BatchMode::kTraining, 8));
  std::vector<Filled<float>> expected;
  for (int b = 0; b < 32; ++b) expected.push_back(Fill<float>(*batches, b, {0, 8}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 32; ++i) {
        const int b = (i * 5 + t * 7) % 32;
        EXPECT_EQ(Fill<float>(*batches, b, {0, 8}).images, expected[b].images);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Pixel (y, x, c) of the sample that a transform shows, straight from its definition.
double Shown(const ImageDataset& dataset, int64_t sample, const Transform& t, Border border, int64_t y, int64_t x,
             int64_t c) {
  const auto [height, width, channels] = dataset.shape;
  int64_t from_y = y - t.dy, from_x = (t.flip ? width - 1 - x : x) - t.dx;
  if (from_y < 0 || from_y >= height || from_x < 0 || from_x >= width) {
    if (border == Border::kZero) return 0;
    from_y = std::min(std::max<int64_t>(from_y, 0), height - 1);
    from_x = std::min(std::max<int64_t>(from_x, 0), width - 1);
  }
  return dataset.image(sample)[(from_y * width + from_x) * channels + c] / 255.0;
}

TEST(ImageBatches, AugmentationIsShiftThenFlipOfTheSample) {
  const auto dataset = Mock(12, {5, 7, 2});
  for (const Border border : {Border::kZero, Border::kEdge}) {
    ImageBatchOptions options = Options(BatchMode::kTraining, 12, 2);
    options.augmentation = {2, border, true};
    const auto batches = Make(dataset, options, DType::kF64);
    for (const int64_t epoch : {0, 3}) {
      const auto filled = Fill<double>(*batches, epoch, {0, 12});
      const std::vector<uint32_t> order = EpochPermutation(9, epoch, 12);
      const double* pixel = filled.images.data();
      for (int i = 0; i < 12; ++i) {
        const Transform t = DrawTransform(options.augmentation, PhiloxKey(9, kAugmentationName), epoch, order[i]);
        for (int y = 0; y < 5; ++y) {
          for (int x = 0; x < 7; ++x) {
            for (int c = 0; c < 2; ++c) ASSERT_EQ(*pixel++, Shown(*dataset, order[i], t, border, y, x, c));
          }
        }
      }
    }
  }
}

// Bytes are those that the numbers are made of, augmented alike.
TEST(ImageBatches, BytesAreThoseOfTheNumbers) {
  const auto dataset = Mock(12, {5, 7, 2});
  ImageBatchOptions options = Options(BatchMode::kTraining, 12, 2);
  options.normalization = MeasureNormalization(*dataset);
  options.augmentation = {2, Border::kZero, true};
  const Filled<float> numbers = Fill<float>(*Make(dataset, options), 1, {3, 12});
  options.fields.pixels = DType::kU8;
  const auto source = ImageBatches::Create(dataset, options).value();
  std::vector<uint8_t> bytes(9 * 5 * 7 * 2);
  std::vector<float> weights(9);
  std::vector<int32_t> labels(9);
  ASSERT_TRUE(source
                  ->Fill(1, {3, 12},
                         {std::as_writable_bytes(std::span(bytes)), std::as_writable_bytes(std::span(labels)),
                          std::as_writable_bytes(std::span(weights))})
                  .ok());
  const std::vector<float> table = NormalizationTable<float>(options.normalization);
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(numbers.images[i], table[i % 2 * 256 + bytes[i]]);
  EXPECT_EQ(labels, numbers.labels);
}

TEST(Augmentation, ReachesEveryShiftAndBothFlips) {
  std::map<std::tuple<int64_t, int64_t, bool>, int> seen;
  for (int64_t sample = 0; sample < 5000; ++sample) {
    const Transform t = DrawTransform({2, Border::kZero, true}, 1, 0, sample);
    ++seen[{t.dy, t.dx, t.flip}];
  }
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_EQ(std::get<0>(seen.begin()->first), -2);
  EXPECT_EQ(std::get<0>(seen.rbegin()->first), 2);
  const Transform none = DrawTransform({}, 1, 0, 0);
  EXPECT_TRUE(none.dy == 0 && none.dx == 0 && !none.flip);
}

std::string Error(int64_t count, const ImageBatchOptions& options) {
  const auto batches = ImageBatches::Create(Numbered(count), options);
  return batches.ok() ? "accepted" : std::string(batches.status().message());
}

TEST(ImageBatches, RefusesWhatCannotWork) {
  const ImageBatchOptions good = Options(BatchMode::kTraining, 8);
  EXPECT_THAT(Error(7, good), HasSubstr("found 7 samples, a training batch of 8 needs at least as many"));
  EXPECT_EQ(Error(8, good), "accepted");
  EXPECT_THAT(Error(0, good), HasSubstr("found 0 samples"));
  EXPECT_THAT(Error(8, Options(BatchMode::kTraining, 0)), HasSubstr("found 0 rows"));
  EXPECT_THAT(Error(8, Options(BatchMode::kEvaluation, -3)), HasSubstr("found -3 rows"));
  EXPECT_THAT(Error(8, Options(BatchMode::kEvaluation, std::numeric_limits<int64_t>::max())),
              HasSubstr("rows, allowed"));
  EXPECT_THAT(Error(8, Options(BatchMode::kTraining, 8, 3)), HasSubstr("the images have 1 channels"));
  ImageBatchOptions shifted = good;
  shifted.augmentation.shift = 2;
  ImageBatchOptions whole = good;
  whole.fields.floating = DType::kU8;
  EXPECT_THAT(Error(8, whole), HasSubstr("found images of f32 and weights of u8, allowed are"));
  EXPECT_THAT(Error(8, shifted), HasSubstr("found a shift of 2 pixels, allowed are 0 to 1"));
  ImageBatchOptions evaluated = Options(BatchMode::kEvaluation, 8);
  evaluated.augmentation.flip = true;
  EXPECT_THAT(Error(8, evaluated), HasSubstr("found one for an evaluation"));
}

}  // namespace
}  // namespace partita
