#include "runtime/data/image_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/data/normalization.h"
#include "tests/runtime/data/idx_bytes.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

const std::string kImages = IdxBytes({3, 2, 2}, "abcdefghijkl");
const std::string kLabels = IdxBytes({3}, std::string("\0\1\2", 3));

std::string LoadError(const std::string& images, const std::string& labels, int64_t classes = 3) {
  const TestFolder folder;
  const auto dataset = LoadIdxDataset(folder.Write("i", images), folder.Write("l", labels), classes);
  if (dataset.ok()) return "accepted";
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(dataset.status().message());
}

TEST(ImageDataset, LoadsBothRanks) {
  const TestFolder folder;
  const std::string labels = folder.Write("l", kLabels);
  const auto grey = LoadIdxDataset(folder.Write("i", kImages), labels, 3);
  ASSERT_TRUE(grey.ok()) << grey.status();
  EXPECT_EQ(grey->count, 3);
  EXPECT_EQ(grey->shape, (ImageShape{2, 2, 1}));
  EXPECT_EQ(grey->labels, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(grey->image(1)[0], 'e');
  const auto colour = LoadIdxDataset(folder.Write("c", IdxBytes({3, 1, 2, 2}, "abcdefghijkl")), labels, 3);
  ASSERT_TRUE(colour.ok()) << colour.status();
  EXPECT_EQ(colour->shape, (ImageShape{1, 2, 2}));
  EXPECT_NE(Digest(*grey), Digest(*colour));
}

TEST(ImageDataset, EachFaultHasItsSentence) {
  EXPECT_THAT(LoadError(IdxBytes({12}, "abcdefghijkl"), kLabels),
              HasSubstr("/i: offset 3: found 1 dimensions, images"));
  EXPECT_THAT(LoadError(kImages, IdxBytes({3, 1}, "abc")),
              HasSubstr("/l: offset 3: found 2 dimensions, labels have 1"));
  EXPECT_THAT(LoadError(kImages, IdxBytes({2}, std::string("\0\1", 2))), HasSubstr("/l: offset 4: found 2 labels"));
  EXPECT_THAT(LoadError(kImages, kLabels, 2),
              HasSubstr("/l: offset 10: found label 2 of sample 2, allowed are 0 to 1"));
  EXPECT_THAT(LoadError(kLabels, kImages), HasSubstr("found 1 dimensions"));
  EXPECT_THAT(LoadError("", kLabels), HasSubstr("/i: offset 0"));
  EXPECT_THAT(LoadError(IdxBytes({3, 1, 1}, "abcdefghijkl", 0x0D), kLabels),
              HasSubstr("/i: offset 2: found elements of f32, images and labels have u8"));
}

TEST(ImageDataset, FolderWithPlainAndCompressedFiles) {
  const TestFolder folder;
  folder.Write("train-images-idx3-ubyte", kImages);
  folder.Write("train-labels-idx1-ubyte.gz", Gzip(kLabels));
  folder.Write("t10k-images-idx3-ubyte.gz", Gzip(IdxBytes({1, 2, 2}, "wxyz")));
  const auto incomplete = LoadMnistFolder(folder.path(), 3);
  EXPECT_THAT(std::string(incomplete.status().message()),
              HasSubstr("found neither t10k-labels-idx1-ubyte nor t10k-labels-idx1-ubyte.gz"));
  folder.Write("t10k-labels-idx1-ubyte", IdxBytes({1}, "\1"));
  const auto sets = LoadMnistFolder(folder.path(), 3);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->train->count, 3);
  EXPECT_EQ(sets->test->count, 1);
  folder.Write("t10k-images-idx3-ubyte.gz", Gzip(IdxBytes({1, 1, 4}, "wxyz")));
  EXPECT_THAT(std::string(LoadMnistFolder(folder.path(), 3).status().message()),
              HasSubstr("found test images of 1x4x1, the training images are 2x2x1"));
}

TEST(ImageDataset, LinksThatLeadNowhereAreNoMissingSet) {
  const TestFolder folder;
  folder.Write("train-images-idx3-ubyte", kImages);
  folder.Write("train-labels-idx1-ubyte", kLabels);
  for (const char* const name : {"/t10k-images-idx3-ubyte", "/t10k-labels-idx1-ubyte.gz"}) {
    std::filesystem::create_symlink("nowhere", folder.path() + name);
  }
  EXPECT_THAT(std::string(LoadMnistFolder(folder.path(), 3).status().message()),
              HasSubstr("t10k-images-idx3-ubyte: cannot open"));
}

TEST(ImageDataset, OneOfTheSetsMayBeMissing) {
  const TestFolder folder;
  EXPECT_THAT(std::string(LoadMnistFolder(folder.path(), 3).status().message()),
              HasSubstr("found neither train-images-idx3-ubyte"));
  folder.Write("t10k-images-idx3-ubyte", kImages);
  folder.Write("t10k-labels-idx1-ubyte", kLabels);
  const auto test = LoadMnistFolder(folder.path(), 3);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_FALSE(test->train.has_value());
  EXPECT_EQ(test->test->count, 3);
  folder.Write("train-images-idx3-ubyte", kImages);
  EXPECT_THAT(std::string(LoadMnistFolder(folder.path(), 3).status().message()),
              HasSubstr("found neither train-labels-idx1-ubyte"));
}

TEST(ImageDataset, FashionMnistOfDebian) {
  if (!std::filesystem::exists(kFashionMnistFolder)) GTEST_SKIP() << "package dataset-fashion-mnist is not installed";
  const auto sets = LoadMnistFolder(kFashionMnistFolder, kFashionMnistClasses);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->train->count, 60'000);
  EXPECT_EQ(sets->test->count, 10'000);
  EXPECT_EQ(sets->train->shape, (ImageShape{28, 28, 1}));
  for (int32_t label = 0; label < 10; ++label) {
    EXPECT_EQ(std::count(sets->train->labels.begin(), sets->train->labels.end(), label), 6000);
    EXPECT_EQ(std::count(sets->test->labels.begin(), sets->test->labels.end(), label), 1000);
  }
  // The constants that everyone quotes for this set.
  const Normalization normalization = MeasureNormalization(*sets->train);
  EXPECT_NEAR(normalization.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(normalization.deviation[0], 0.3530, 5e-5);
}

TEST(ImageDataset, MockIsDeterministicAndInRange) {
  const auto a = MakeMockDataset(200, {5, 7, 3}, 11, 1), b = MakeMockDataset(200, {5, 7, 3}, 11, 1);
  const auto other = MakeMockDataset(200, {5, 7, 3}, 11, 2);
  ASSERT_TRUE(a.ok() && b.ok() && other.ok());
  EXPECT_EQ(a->images, b->images);
  EXPECT_EQ(Digest(*a), Digest(*b));
  EXPECT_NE(Digest(*a), Digest(*other));
  std::vector<int> seen(11), bytes(256);
  for (const int32_t label : a->labels) ++seen.at(label);
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 0);
  for (const uint8_t byte : a->images) ++bytes[byte];
  EXPECT_GT(*std::min_element(bytes.begin(), bytes.end()), 0);
  // A smaller set is the beginning of a larger one.
  const auto smaller = MakeMockDataset(10, {5, 7, 3}, 11, 1);
  EXPECT_TRUE(std::equal(smaller->images.begin(), smaller->images.end(), a->images.begin()));
}

TEST(ImageDataset, MockRefusesSizesThatAreNone) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 41, int64_t{1} << 62}) {
    EXPECT_FALSE(MakeMockDataset(bad, {2, 2, 1}, 2, 0).ok()) << bad;
    EXPECT_FALSE(MakeMockDataset(1, {bad, 2, 1}, 2, 0).ok()) << bad;
    EXPECT_FALSE(MakeMockDataset(1, {2, bad, 1}, 2, 0).ok()) << bad;
    EXPECT_FALSE(MakeMockDataset(1, {2, 2, bad}, 2, 0).ok()) << bad;
    EXPECT_FALSE(MakeMockDataset(1, {2, 2, 1}, bad, 0).ok()) << bad;
  }
}

TEST(ImageDataset, MockThatDoesNotFitIsRefusedBeforeMemoryIsTaken) {
  const absl::Status status = MakeMockDataset(int64_t{1} << 29, {28, 28, 1}, 10, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(std::string(status.message()).find("mock data of 536870912 images of 28x28x1"), std::string::npos);
}

TEST(Normalization, PerChannelFromExactSums) {
  ImageDataset dataset{2, {1, 1, 2}, 1, {0, 7, 255, 7}, {0, 0}};
  const Normalization normalization = MeasureNormalization(dataset);
  EXPECT_EQ(normalization.mean[0], 0.5);
  EXPECT_EQ(normalization.deviation[0], 0.5);
  EXPECT_EQ(normalization.deviation[1], 1);  // a constant channel
  const std::vector<float> table = NormalizationTable<float>(normalization);
  EXPECT_EQ(table[0], -1);
  EXPECT_EQ(table[255], 1);
  EXPECT_NEAR(table[256 + 7], 0, 1e-15);
}

TEST(Normalization, Checked) {
  EXPECT_TRUE(CheckNormalization(NoNormalization(3), 3).ok());
  EXPECT_FALSE(CheckNormalization(NoNormalization(1), 3).ok());
  EXPECT_FALSE(CheckNormalization({{0}, {0}}, 1).ok());
  EXPECT_FALSE(CheckNormalization({{0}, {-1}}, 1).ok());
  EXPECT_FALSE(CheckNormalization({{std::numeric_limits<double>::quiet_NaN()}, {1}}, 1).ok());
}

}  // namespace
}  // namespace partita
