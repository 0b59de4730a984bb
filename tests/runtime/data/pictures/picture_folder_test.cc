#include "runtime/data/pictures/picture_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/data/idx_bytes.h"
#include "tools/benchmarks/decode/picture_bytes.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PictureFolder : public testing::Test {
 protected:
  // A picture at this path below the folder.
  void Add(const std::string& path, const std::string& bytes = PngBytes(2, 2, std::vector<uint8_t>(12, 9))) {
    fs::create_directories(fs::path(Path(path)).parent_path());
    folder_.Write(path, bytes);
  }
  std::string Path(const std::string& path = "") const { return folder_.path() + (path.empty() ? "" : "/" + path); }

  absl::StatusOr<PictureSets> Scan(BadFilePolicy policy = BadFilePolicy::kStop, double test_share = 0.2) {
    return ScanPictureFolder(Path(), {policy, test_share}, *threads_);
  }
  std::string Error(BadFilePolicy policy = BadFilePolicy::kStop) {
    const absl::StatusOr<PictureSets> sets = Scan(policy);
    if (sets.ok()) return "accepted";
    EXPECT_EQ(sets.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(sets.status().message());
  }

  TestFolder folder_;
  std::shared_ptr<DecodeThreads> threads_ = DecodeThreads::Start(3).value();
};

std::vector<std::string> Names(const PictureSet& set) {
  std::vector<std::string> names;
  for (const PictureSample& sample : set.samples) names.push_back(sample.name + ":" + std::to_string(sample.label));
  return names;
}

TEST_F(PictureFolder, ClassesAreFoldersInTheOrderOfTheirNames) {
  for (const char* path : {"train/b/2.png", "train/b/1.png", "train/a/deep/x/3.png", "train/a/9.png", "train/C/0.png",
                           "test/b/5.png", "test/a/4.png", "train/.hidden/1.png", "train/b/.1.png"}) {
    Add(path);
  }
  Add("README", "pictures");
  Add("train/README", "pictures");
  const auto sets = Scan();
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->classes, ElementsAre("C", "a", "b"));
  EXPECT_THAT(Names(sets->train), ElementsAre("C/0.png:0", "a/9.png:1", "a/deep/x/3.png:1", "b/1.png:2", "b/2.png:2"));
  EXPECT_THAT(Names(sets->test), ElementsAre("a/4.png:1", "b/5.png:2"));
  EXPECT_EQ(sets->bad.count, 0);
}

TEST_F(PictureFolder, AShareIsHeldOutByName) {
  for (int i = 0; i < 300; ++i) Add((i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".png");
  const auto sets = Scan();
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->train.samples.size() + sets->test.samples.size(), 300u);
  EXPECT_NEAR(static_cast<double>(sets->test.samples.size()), 60, 25);
  for (const PictureSample& sample : sets->test.samples) EXPECT_TRUE(IsHeldOut(sample.name, 0.2));
  // More files move none from one set to the other.
  Add("a/one_more.png");
  const auto more = Scan();
  ASSERT_TRUE(more.ok());
  for (const PictureSample& sample : more->train.samples) EXPECT_FALSE(IsHeldOut(sample.name, 0.2));
  EXPECT_THAT(Scan(BadFilePolicy::kStop, 0)->test.samples, IsEmpty());
  EXPECT_THAT(Scan(BadFilePolicy::kStop, 1)->train.samples, IsEmpty());
}

TEST_F(PictureFolder, ATestAloneHasItsClasses) {
  Add("test/a/1.png");
  Add("test/b/1.png");
  const auto sets = Scan();
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->classes, ElementsAre("a", "b"));
  EXPECT_THAT(sets->train.samples, IsEmpty());
  EXPECT_THAT(sets->test.samples, SizeIs(2));
}

// A model's classes keep their numbers, whichever of them a folder has.
TEST_F(PictureFolder, ClassesAreThoseOfAModel) {
  Add("test/c/1.png");
  ScanOptions options;
  options.classes = {"a", "b", "c"};
  const auto sets = ScanPictureFolder(Path(), options, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->classes, options.classes);
  EXPECT_THAT(Names(sets->test), ElementsAre("c/1.png:2"));
  Add("test/d/1.png");
  EXPECT_EQ(ScanPictureFolder(Path(), options, *threads_).status().message(),
            Path("test/d") + ": found a class that the training of the model that is loaded lacks");
}

TEST_F(PictureFolder, PicturesOfNoClassAreATestWhereNobodyAsksForLabels) {
  Add("2.png");
  Add("10.JPG");
  Add("deeper/1.png");
  Add(".hidden.png");
  ScanOptions options;
  options.labelled = false;
  const auto sets = ScanPictureFolder(Path(), options, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(Names(sets->test), ElementsAre("10.JPG:0", "2.png:0", "deeper/1.png:0"));
  EXPECT_THAT(sets->train.samples, IsEmpty());
  EXPECT_TRUE(HasLoosePictures(Path()));
  EXPECT_FALSE(HasLoosePictures(Path("nowhere")));
  EXPECT_EQ(Error(), Path() + ": found one class, 'deeper', allowed are 2 or more");
}

TEST_F(PictureFolder, LinksToFilesAndToClassesAreFollowed) {
  Add("elsewhere/x/1.png");
  Add("data/train/a/1.png");
  fs::create_symlink(Path("elsewhere/x"), Path("data/train/b"));
  fs::create_symlink(Path("elsewhere/x/1.png"), Path("data/train/a/2.png"));
  auto sets = ScanPictureFolder(Path("data"), {}, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->train.samples.size() + sets->test.samples.size(), 3u);
  // A circle is not walked.
  fs::create_directory_symlink(Path("data/train"), Path("data/train/a/circle"));
  sets = ScanPictureFolder(Path("data"), {}, *threads_);
  EXPECT_EQ(sets.status().message(),
            Path("data/train/a/circle") + ": found a link to a folder, allowed are links to files" + kSkipHint);
}

TEST_F(PictureFolder, BadFilesStopOrAreCounted) {
  Add("train/a/1.png");
  Add("train/b/1.png");
  struct Bad {
    std::string path, error;
  };
  std::vector<Bad> cases;
  const auto plant = [&](const std::string& path, const std::string& bytes, const std::string& error) {
    Add(path, bytes);
    EXPECT_EQ(Error(), Path(path) + ": " + error + kSkipHint);
    cases.push_back({path, error});
    // Out of the way of the next one.
    fs::rename(Path(path), Path("kept" + std::to_string(cases.size())));
  };
  plant("train/a/notes.txt", "notes", "found text, allowed are JPEG and PNG files");
  plant("train/b/empty.png", "", "found an empty file, allowed are JPEG and PNG files");
  plant("train/b/large.png", PngBytes(1, 1, {1, 2, 3}).replace(16, 1, "\x7f"),
        "found a picture of 1 x 2130706433 pixels, allowed are 1 to 268435456 pixels");
  for (size_t i = 0; i < cases.size(); ++i) fs::rename(Path("kept" + std::to_string(i + 1)), Path(cases[i].path));
  fs::create_symlink("nowhere", Path("train/a/0.png"));
  ASSERT_EQ(::mkfifo(Path("train/a/pipe.png").c_str(), 0600), 0);
  EXPECT_EQ(Error(), Path("train/a/0.png") + ": the link leads nowhere" + kSkipHint);
  const auto sets = Scan(BadFilePolicy::kSkip, 0);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(Names(sets->train), ElementsAre("a/1.png:0", "b/1.png:1"));
  EXPECT_EQ(sets->bad.count, 5);
  EXPECT_THAT(sets->bad.first, SizeIs(5));
  EXPECT_EQ(sets->bad.first[1], Path("train/a/pipe.png") + ": found neither a file nor a folder");
}

// It could be a class, or the test set: without it the run would learn or test something else.
TEST_F(PictureFolder, AClassOrASetThatLeadsNowhereIsBad) {
  for (const char* const path : {"train/a/1.png", "train/b/1.png", "test/a/1.png", "test/b/1.png"}) Add(path);
  for (const char* const link : {"train/c", "test/c", "val"}) {
    fs::create_symlink("nowhere", Path(link));
    EXPECT_EQ(Error(), Path(link) + ": the link leads nowhere" + kSkipHint);
    const auto sets = Scan(BadFilePolicy::kSkip);
    ASSERT_TRUE(sets.ok()) << sets.status();
    EXPECT_THAT(Names(sets->train), ElementsAre("a/1.png:0", "b/1.png:1"));
    EXPECT_THAT(sets->bad.first, ElementsAre(Path(link) + ": the link leads nowhere"));
    fs::remove(Path(link));
  }
}

TEST_F(PictureFolder, AClassWithoutPicturesIsBad) {
  Add("train/a/1.png");
  Add("train/b/1.png");
  fs::create_directories(Path("train/c"));
  EXPECT_EQ(Error(), Path("train/c") + ": found a class without pictures" + kSkipHint);
  const auto sets = Scan(BadFilePolicy::kSkip);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->classes, SizeIs(3));  // its number stays taken
}

TEST_F(PictureFolder, WhatCannotBeASetIsRefusedUnderAnyPolicy) {
  const BadFilePolicy skip = BadFilePolicy::kSkip;
  EXPECT_EQ(Error(skip), Path() + ": found no folders in it; each class of pictures is one, named as the class");
  Add("train/a/1.png");
  EXPECT_EQ(Error(skip), Path("train") + ": found one class, 'a', allowed are 2 or more");
  Add("train/b/1.png");
  Add("val/a/1.png");
  Add("val/dog/1.png");
  EXPECT_EQ(Error(skip), Path("val/dog") + ": found a class that training lacks");
  EXPECT_THAT(ScanPictureFolder("/nowhere", {}, *threads_).status().message(), HasSubstr("/nowhere: cannot read"));
}

TEST_F(PictureFolder, AFolderOfOtherFilesHasNoPictures) {
  Add("a/1.txt", "1");
  Add("b/1.txt", "1");
  EXPECT_EQ(Error(BadFilePolicy::kSkip), Path() + ": found no pictures; 4 other files were left out");
}

TEST_F(PictureFolder, FilesOfOtherSystemsAreSkipped) {
  for (const char* path : {"train/a/1.png", "train/b/2.PNG", "test/a/3.JPG", "test/b/4.jpeg"}) Add(path);
  for (const char* path :
       {"train/a/._1.png", "train/a/.DS_Store", "train/__MACOSX/a/1.png", "train/b/Thumbs.db", "train/b/desktop.ini",
        "test/a/THUMBS.DB", "test/@eaDir/x", "train/a/deep/ehthumbs.db", "$RECYCLE.BIN/x"}) {
    Add(path, "no picture");
  }
  const auto sets = Scan();
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->classes, ElementsAre("a", "b"));
  EXPECT_THAT(Names(sets->train), ElementsAre("a/1.png:0", "b/2.PNG:1"));
  EXPECT_THAT(Names(sets->test), ElementsAre("a/3.JPG:0", "b/4.jpeg:1"));
}

// Bad files of all kinds in the set that is not needed change nothing, whether a folder or a hash divides the two.
TEST_F(PictureFolder, TheOtherSetIsNotOpened) {
  for (const bool divided : {true, false}) {
    const std::string root = divided ? "divided" : "whole";
    for (int i = 0; i < 40; ++i) {
      for (const std::string name : {"a", "b"}) {
        const std::string file = name + "/" + std::to_string(i) + ".png";
        const bool test = divided ? i % 2 == 0 : IsHeldOut(file, 0.5);
        const std::string path = root + (divided ? (test ? "/test/" : "/train/") : "/") + file;
        Add(path, test ? PngBytes(2, 2, std::vector<uint8_t>(12, 9)) : "");
        if (!test && i > 20) {
          fs::remove(Path(path));
          fs::create_symlink("nowhere", Path(path));
        }
      }
    }
    ScanOptions options{BadFilePolicy::kStop, 0.5};
    EXPECT_FALSE(ScanPictureFolder(Path(root), options, *threads_).ok());
    options.train = false;
    const auto sets = ScanPictureFolder(Path(root), options, *threads_);
    ASSERT_TRUE(sets.ok()) << sets.status();
    EXPECT_THAT(sets->train.samples, IsEmpty());
    EXPECT_GT(sets->test.samples.size(), 10u);
    EXPECT_EQ(sets->bad.count, 0);
    EXPECT_THAT(sets->classes, ElementsAre("a", "b"));
  }
}

// Labels are those of the training folder's classes even where no picture of it is opened.
TEST_F(PictureFolder, ATestHasTheNumbersOfTheTrainingClasses) {
  for (const char* path : {"train/a/1.png", "train/b/1.png", "train/c/1.png"}) Add(path, "");
  Add("test/c/1.png");
  ScanOptions options;
  options.train = false;
  const auto sets = ScanPictureFolder(Path(), options, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(Names(sets->test), ElementsAre("c/1.png:2"));
}

TEST_F(PictureFolder, PicturesOverTheBudgetAreBad) {
  Add("train/a/1.png", PngBytes(64, 64, std::vector<uint8_t>(64 * 64 * 3, 9)));
  Add("train/b/1.png");
  ScanOptions options{BadFilePolicy::kSkip, 0};
  options.decode_bytes = 4000;
  const auto sets = ScanPictureFolder(Path(), options, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(Names(sets->train), ElementsAre("b/1.png:1"));
  EXPECT_THAT(sets->bad.first[0], HasSubstr("train/a/1.png: found a picture of 64 x 64 pixels, which takes"));
}

TEST_F(PictureFolder, TheDigestTellsSetsApart) {
  Add("a/1.png");
  Add("b/1.png");
  const uint64_t before = Digest(Scan(BadFilePolicy::kStop, 0)->train);
  EXPECT_EQ(Digest(Scan(BadFilePolicy::kStop, 0)->train), before);
  Add("b/2.png");
  EXPECT_NE(Digest(Scan(BadFilePolicy::kStop, 0)->train), before);
}

// The least number that fails is told, on any number of threads.
TEST(DecodeThreads, TheFirstErrorIsTheOneThatIsTold) {
  for (const int64_t count : {1, 2, 7}) {
    const auto threads = DecodeThreads::Start(count).value();
    for (int round = 0; round < 50; ++round) {
      std::vector<int> calls(100);
      const absl::Status status = threads->Run(100, [&](int64_t i) {
        ++calls[static_cast<size_t>(i)];
        return i % 30 == 11 ? absl::InternalError(std::to_string(i)) : absl::OkStatus();
      });
      EXPECT_EQ(status.message(), "11");
      for (size_t i = 0; i <= 11; ++i) EXPECT_EQ(calls[i], 1);
      for (const int called : calls) EXPECT_LE(called, 1);
    }
    EXPECT_TRUE(threads->Run(0, [](int64_t) { return absl::InternalError("called"); }).ok());
    EXPECT_EQ(threads->Run(3, [](int64_t) -> absl::Status { throw std::bad_alloc(); }).code(),
              absl::StatusCode::kResourceExhausted);
  }
}

TEST(DecodeThreads, SeveralCallersShareThem) {
  const auto threads = DecodeThreads::Start(3).value();
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_TRUE(threads->Run(50, [&](int64_t i) { return sum += i, absl::OkStatus(); }).ok());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 20 * 49 * 50 / 2);
}

}  // namespace
}  // namespace partita
