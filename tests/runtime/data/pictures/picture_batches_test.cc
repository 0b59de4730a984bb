#include "runtime/data/pictures/picture_batches.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/data/permutation.h"
#include "runtime/data/pictures/measure_pictures.h"
#include "runtime/data/pictures/picture_folder.h"
#include "runtime/data/pictures/show_picture.h"
#include "tests/runtime/data/idx_bytes.h"
#include "tools/benchmarks/decode/picture_bytes.h"

namespace partita {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Filled {
  std::vector<float> pixels, weights;
  std::vector<int32_t> labels;
  absl::Status status;

  bool operator==(const Filled& other) const {
    return pixels == other.pixels && weights == other.weights && labels == other.labels;
  }
};

Filled Fill(const BatchSource& source, int64_t batch, Rows rows) {
  const size_t count = static_cast<size_t>(rows.size());
  // What was there before must not matter.
  Filled out{std::vector<float>(count * static_cast<size_t>(Elements(source.fields()[0].row)), 77),
             std::vector<float>(count, 77), std::vector<int32_t>(count, 77), absl::OkStatus()};
  out.status =
      source.Fill(batch, rows,
                  {std::as_writable_bytes(std::span(out.pixels)), std::as_writable_bytes(std::span(out.labels)),
                   std::as_writable_bytes(std::span(out.weights))});
  return out;
}

// Twelve pictures in two classes, each of noise; the grey of picture i is i / 255 where `flat`.
class PictureBatchesTest : public testing::Test {
 protected:
  void MakeSet(bool flat) {
    std::mt19937 random(1);
    for (int i = 0; i < 12; ++i) {
      const uint32_t height = flat ? 4 : 5 + random() % 20, width = flat ? 4 : 5 + random() % 20;
      std::vector<uint8_t> pixels(height * width * 3, static_cast<uint8_t>(i));
      if (!flat) std::ranges::generate(pixels, [&] { return static_cast<uint8_t>(random()); });
      Write(i, i % 3 == 2 ? JpegBytes(height, width, pixels) : PngBytes(height, width, pixels));
    }
    Scan();
  }
  std::string Path(int i) const { return fmt::format("{}/{}/{:02}", folder_.path(), i < 6 ? "a" : "b", i); }
  void Write(int i, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(Path(i)).parent_path());
    std::ofstream(Path(i), std::ios::binary) << bytes;
  }
  void Scan() {
    auto sets = ScanPictureFolder(folder_.path(), {BadFilePolicy::kStop, 0}, *threads_);
    ASSERT_TRUE(sets.ok()) << sets.status();
    set_ = std::make_shared<PictureSet>(sets->train);
  }

  static PictureBatchOptions Options(BatchMode mode, int64_t rows) {
    PictureBatchOptions options;
    options.mode = mode;
    options.batch_rows = rows;
    options.seed = 9;
    options.views.size = {4, 4};
    options.normalization = NoNormalization(3);
    return options;
  }
  std::shared_ptr<PictureBatches> Make(PictureBatchOptions options, int64_t threads = 1) {
    auto batches = PictureBatches::Create(set_, DecodeThreads::Start(threads).value(), std::move(options));
    EXPECT_TRUE(batches.ok()) << batches.status();
    return *batches;
  }
  std::string Refused(PictureBatchOptions options) {
    return std::string(PictureBatches::Create(set_, threads_, std::move(options)).status().message());
  }

  TestFolder folder_;
  std::shared_ptr<DecodeThreads> threads_ = DecodeThreads::Start(2).value();
  std::shared_ptr<PictureSet> set_;
};

TEST_F(PictureBatchesTest, TrainingBatchesAreSlicesOfThePermutation) {
  MakeSet(/*flat=*/true);
  const auto batches = Make(Options(BatchMode::kTraining, 5));
  EXPECT_EQ(batches->batches_per_epoch(), 2);
  EXPECT_EQ(batches->samples(), 10);
  for (const int64_t epoch : {0, 3}) {
    const std::vector<uint32_t> order = EpochPermutation(9, epoch, 12);
    for (int64_t batch = 0; batch < 2; ++batch) {
      const Filled filled = Fill(*batches, epoch * 2 + batch, {0, 5});
      ASSERT_TRUE(filled.status.ok()) << filled.status;
      for (size_t i = 0; i < 5; ++i) {
        const uint32_t sample = order[static_cast<size_t>(batch) * 5 + i];
        EXPECT_EQ(filled.labels[i], sample < 6 ? 0 : 1);
        EXPECT_NEAR(filled.pixels[i * 48] * 255, sample, 1.01);  // JPEG may be off by one
      }
      EXPECT_THAT(filled.weights, Each(1.0f));
    }
  }
}

TEST_F(PictureBatchesTest, AnEvaluationFillsItsLastBatchUp) {
  MakeSet(/*flat=*/true);
  const auto batches = Make(Options(BatchMode::kEvaluation, 8));
  EXPECT_EQ(batches->batches_per_epoch(), 2);
  const Filled last = Fill(*batches, 1, {0, 8});
  ASSERT_TRUE(last.status.ok()) << last.status;
  EXPECT_THAT(last.weights, ElementsAre(2, 2, 2, 2, 0, 0, 0, 0));
  EXPECT_THAT(last.labels, ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  for (size_t i = 4 * 48; i < 8 * 48; ++i) EXPECT_EQ(last.pixels[i], 0);
}

TEST_F(PictureBatchesTest, RowsAreTheSameHoweverTheyAreSplitAndOnAnyThreads) {
  MakeSet(/*flat=*/false);
  for (const double least_area : {0.0, 0.08}) {
    PictureBatchOptions options = Options(BatchMode::kTraining, 6);
    options.views.least_area = least_area;
    options.views.shift = 2;
    options.views.flip = true;
    options.views.colour = 0.4;
    const auto one = Make(options, 1), many = Make(options, 5);
    for (const int64_t batch : {3, 0, 7}) {
      const Filled whole = Fill(*one, batch, {0, 6});
      ASSERT_TRUE(whole.status.ok()) << whole.status;
      EXPECT_EQ(Fill(*many, batch, {0, 6}), whole);
      for (const Rows rows : {Rows{0, 2}, Rows{2, 6}, Rows{5, 6}, Rows{3, 3}}) {
        const Filled part = Fill(*many, batch, rows);
        EXPECT_TRUE(std::equal(part.pixels.begin(), part.pixels.end(), whole.pixels.begin() + rows.begin * 48));
        EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.end(), whole.labels.begin() + rows.begin));
      }
    }
    EXPECT_NE(Fill(*one, 0, {0, 6}).pixels, Fill(*one, 2, {0, 6}).pixels);
  }
}

TEST_F(PictureBatchesTest, OnlyTheRowsThatAreAskedForAreRead) {
  MakeSet(/*flat=*/true);
  const auto batches = Make(Options(BatchMode::kEvaluation, 12));
  std::filesystem::remove(Path(7));
  EXPECT_TRUE(Fill(*batches, 0, {0, 7}).status.ok());
  EXPECT_TRUE(Fill(*batches, 0, {8, 12}).status.ok());
  EXPECT_THAT(Fill(*batches, 0, {6, 8}).status.message(), HasSubstr(Path(7) + ": cannot open"));
}

TEST_F(PictureBatchesTest, PixelsAreNormalisedOrBytes) {
  MakeSet(/*flat=*/true);
  PictureBatchOptions options = Options(BatchMode::kEvaluation, 4);
  options.normalization = {{0.5, 0.25, 0}, {0.5, 2, 1}};
  const Filled filled = Fill(*Make(options), 0, {1, 2});
  EXPECT_FLOAT_EQ(filled.pixels[0], static_cast<float>((1 / 255.0 - 0.5) / 0.5));
  EXPECT_FLOAT_EQ(filled.pixels[1], static_cast<float>((1 / 255.0 - 0.25) / 2));
  EXPECT_FLOAT_EQ(filled.pixels[2], static_cast<float>(1 / 255.0));
  options.fields.pixels = DType::kU8;
  options.fields.floating = DType::kF64;
  const auto bytes = Make(options);
  EXPECT_EQ(bytes->fields()[0].dtype, DType::kU8);
  std::vector<uint8_t> pixels(48);
  int32_t label = 0;
  double weight = 0;
  ASSERT_TRUE(bytes
                  ->Fill(0, {1, 2},
                         {std::as_writable_bytes(std::span(pixels)), std::as_writable_bytes(std::span(&label, 1)),
                          std::as_writable_bytes(std::span(&weight, 1))})
                  .ok());
  EXPECT_THAT(pixels, Each(1));
  EXPECT_EQ(weight, 1);
}

TEST_F(PictureBatchesTest, ADamagedPictureStopsOrTheNextTakesItsPlace) {
  MakeSet(/*flat=*/true);
  const std::string png = PngBytes(4, 4, std::vector<uint8_t>(48, 5));
  Write(5, png.substr(0, png.size() - 20));
  Scan();  // its beginning is a picture's
  ASSERT_THAT(set_->samples, SizeIs(12));
  PictureBatchOptions options = Options(BatchMode::kTraining, 12);
  EXPECT_THAT(Fill(*Make(options, 3), 0, {0, 12}).status.message(), HasSubstr(Path(5) + ": the PNG file is damaged"));
  options.bad_files = BadFilePolicy::kSkip;
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& what) { warnings.push_back(what); };
  const auto batches = Make(options, 3);
  const std::vector<uint32_t> order = EpochPermutation(9, 0, 12);
  for (int round = 0; round < 2; ++round) {
    const Filled filled = Fill(*batches, 0, {0, 12});
    ASSERT_TRUE(filled.status.ok()) << filled.status;
    for (size_t i = 0; i < 12; ++i) {
      const uint32_t shown = order[i] == 5 ? 6 : order[i];
      EXPECT_EQ(filled.labels[i], shown < 6 ? 0 : 1);
      EXPECT_NEAR(filled.pixels[i * 48] * 255, shown, 1.01);
    }
  }
  EXPECT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(batches->left_out(), 1);
}

TEST_F(PictureBatchesTest, AnEvaluationLeavesDamagedPicturesOutBeforehand) {
  MakeSet(/*flat=*/true);
  Write(3, JpegBytes(8, 8, std::vector<uint8_t>(64, 9)).substr(0, 300));
  Scan();
  BadFiles bad;
  EXPECT_THAT(DropDamaged(*set_, *threads_, bad).message(), HasSubstr(Path(3)));
  bad.policy = BadFilePolicy::kSkip;
  ASSERT_TRUE(DropDamaged(*set_, *threads_, bad).ok());
  EXPECT_THAT(set_->samples, SizeIs(11));
  EXPECT_EQ(bad.count, 1);
  EXPECT_TRUE(Fill(*Make(Options(BatchMode::kEvaluation, 11)), 0, {0, 11}).status.ok());
}

TEST_F(PictureBatchesTest, ASetOfDamagedPicturesAloneIsAnError) {
  MakeSet(/*flat=*/true);
  for (int i = 0; i < 12; ++i) Write(i, PngBytes(4, 4, std::vector<uint8_t>(48, 5)).substr(0, 40));
  Scan();
  PictureBatchOptions options = Options(BatchMode::kTraining, 2);
  options.bad_files = BadFilePolicy::kSkip;
  EXPECT_THAT(Fill(*Make(options), 0, {0, 2}).status.message(), HasSubstr("is damaged"));
}

TEST_F(PictureBatchesTest, MeanAndDeviationAreThoseOfThePixels) {
  MakeSet(/*flat=*/true);
  // Jpeg pictures out of the way: PNG ones come back exactly.
  std::erase_if(set_->samples, [](const PictureSample& sample) { return std::stoi(sample.name.substr(2)) % 3 == 2; });
  BadFiles bad;
  ViewOptions views;
  views.size = {4, 4};
  const auto measured = MeasurePictures(*set_, views, 3, *threads_, bad);
  ASSERT_TRUE(measured.ok()) << measured.status();
  const double mean = (0 + 1 + 3 + 4 + 6 + 7 + 9 + 10) / 8.0;
  double variance = 0;
  for (const int i : {0, 1, 3, 4, 6, 7, 9, 10}) variance += (i - mean) * (i - mean) / 8;
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(measured->mean[c], mean / 255, 1e-12);
    EXPECT_NEAR(measured->deviation[c], std::sqrt(variance) / 255, 1e-12);
  }
}

TEST_F(PictureBatchesTest, OptionsThatCannotBeAreRefused) {
  MakeSet(/*flat=*/true);
  const PictureBatchOptions good = Options(BatchMode::kTraining, 4);
  PictureBatchOptions bad = good;
  bad.batch_rows = 13;
  EXPECT_THAT(Refused(bad), HasSubstr("found 12 samples"));
  bad = good;
  bad.channels = 2;
  EXPECT_THAT(Refused(bad), HasSubstr("found 2 channels"));
  bad = good;
  bad.views.resize = 3;
  EXPECT_THAT(Refused(bad), HasSubstr("found 3 for the side that pictures are scaled to, allowed are 4 to"));
  bad = good;
  bad.views.shift = 4;
  EXPECT_THAT(Refused(bad), HasSubstr("found a shift of 4 pixels, allowed are 0 to 3"));
  bad = good;
  bad.views.least_area = 1.5;
  EXPECT_THAT(Refused(bad), HasSubstr("found a least area of 1.5"));
  bad = good;
  bad.normalization = NoNormalization(1);
  EXPECT_THAT(Refused(bad), HasSubstr("the images have 3 channels"));
  bad = good;
  bad.fields.pixels = DType::kI32;
  EXPECT_THAT(Refused(bad), HasSubstr("found pixels of i32"));
}

}  // namespace
}  // namespace partita
