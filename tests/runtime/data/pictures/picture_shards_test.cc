#include "runtime/data/pictures/picture_shards.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/pictures/tar_index.h"
#include "tests/runtime/data/idx_bytes.h"
#include "tools/benchmarks/decode/picture_bytes.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// One entry of a tar archive, its header and its blocks.
std::string Entry(const std::string& name, const std::string& bytes, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(124, 11, fmt::format("{:011o}", bytes.size()));
  header[156] = type;
  header.replace(257, 8, std::string("ustar\00000", 8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<uint8_t>(byte);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  std::string blocks = bytes;
  blocks.resize((bytes.size() + 511) / 512 * 512);
  return header + blocks;
}

// A hard link ('1') or a symbolic one ('2').
std::string Link(const std::string& name, const std::string& target, char type = '1') {
  std::string entry = Entry(name, "", type);
  entry.replace(157, target.size(), target);
  unsigned sum = 0;
  entry.replace(148, 8, "        ");
  for (const char byte : entry) sum += static_cast<uint8_t>(byte);
  return entry.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
}

std::string Pax(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  const size_t length = rest + std::to_string(rest + 2).size();
  return Entry("PaxHeaders/x", fmt::format("{} {}={}\n", length, key, value), 'x');
}

std::string Tar(const std::vector<std::string>& entries) {
  std::string bytes;
  for (const std::string& entry : entries) bytes += entry;
  return bytes + std::string(1024, '\0');
}

std::vector<std::string> Index(const TestFolder& folder, const std::string& bytes) {
  const auto entries = ReadTarIndex(folder.Write("x.tar", bytes));
  if (!entries.ok()) return {std::string(entries.status().message())};
  std::vector<std::string> found;
  for (const TarEntry& entry : *entries) {
    found.push_back(fmt::format("{}={}", entry.name,
                                bytes.substr(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size))));
  }
  return found;
}

TEST(TarIndex, TellsWhereFilesLie) {
  const TestFolder folder;
  const std::string longer(600, 'y');
  EXPECT_THAT(Index(folder, Tar({Entry("a.txt", "one"), Entry("d/", "", '5'), Entry("d/b", longer), Entry("c", "")})),
              ElementsAre("a.txt=one", "d/b=" + longer, "c="));
  EXPECT_THAT(Index(folder, Tar({})), SizeIs(0));
}

TEST(TarIndex, KnowsLongNames) {
  const TestFolder folder;
  const std::string name(150, 'n');
  EXPECT_THAT(Index(folder, Tar({Pax("path", name), Entry("short", "one"), Entry("other", "two")})),
              ElementsAre(name + "=one", "other=two"));
  EXPECT_THAT(Index(folder, Tar({Entry("././@LongLink", name + '\0', 'L'), Entry("short", "one")})),
              ElementsAre(name + "=one"));
  EXPECT_THAT(Index(folder, Tar({Pax("comment", "a b=c"), Entry("short", "one")})), ElementsAre("short=one"));
}

// As `cat a.tar b.tar` makes them, whatever zeros lie between.
TEST(TarIndex, ArchivesOneBehindTheOtherAreReadToTheEnd) {
  const TestFolder folder;
  const std::string a = Tar({Entry("a", "one")}), b = Tar({Entry("b", "two")}), zeros(9 * 512, '\0');
  EXPECT_THAT(Index(folder, a + b), ElementsAre("a=one", "b=two"));
  EXPECT_THAT(Index(folder, a + zeros + b + zeros), ElementsAre("a=one", "b=two"));
  EXPECT_THAT(Index(folder, Tar({}) + a + Tar({}) + b), ElementsAre("a=one", "b=two"));
  EXPECT_THAT(Index(folder, a + std::string(100, '\0')), ElementsAre("a=one"));
  EXPECT_THAT(Index(folder, a + "more")[0], HasSubstr("offset 2048: found its end"));
  EXPECT_THAT(Index(folder, a + std::string(512, 'x'))[0], HasSubstr("offset 2048: found no header"));
  EXPECT_THAT(Index(folder, a + b.substr(0, 1024))[0], HasSubstr("offset 3072: found its end"));
}

// The zeros of a hole are not read: this ends though the file claims a gibibyte of them.
TEST(TarIndex, AHoleIsNotRead) {
  const TestFolder folder;
  const std::string path = folder.Write("x.tar", Tar({Entry("a", "one")}));
  std::error_code error;
  std::filesystem::resize_file(path, uintmax_t{1} << 30, error);
  if (error) GTEST_SKIP() << "no file of this size here";
  EXPECT_THAT(ReadTarIndex(path).value(), SizeIs(1));
}

TEST(TarIndex, LinksHaveTheBytesOfTheirFiles) {
  const TestFolder folder;
  EXPECT_THAT(Index(folder, Tar({Entry("d/a", "one"), Link("b", "d/a"), Link("d/c", "a", '2'),
                                 Link("e/f", "../d/./c", '2'), Link("./g", "./d/a")})),
              ElementsAre("d/a=one", "b=one", "d/c=one", "e/f=one", "./g=one"));
  const std::string name(150, 'n');
  EXPECT_THAT(Index(folder, Tar({Pax("path", name), Entry("x", "one"), Pax("linkpath", name), Link("b", "x"),
                                 Entry("././@LongLink", name + '\0', 'K'), Link("c", "x")})),
              ElementsAre(name + "=one", "b=one", "c=one"));
  // The file before the link is meant, where there are two of its name.
  EXPECT_THAT(Index(folder, Tar({Entry("a", "one"), Link("b", "a"), Entry("a", "two"), Link("c", "a")})),
              ElementsAre("a=one", "b=one", "a=two", "c=two"));
}

TEST(TarIndex, LinksThatLeadNowhereAreTold) {
  const TestFolder folder;
  const auto entries = ReadTarIndex(folder.Write("x.tar", Tar({Link("a", "a"), Link("b", "c", '2'), Link("c", "b", '2'),
                                                               Link("d", "/etc/passwd", '2'), Link("e", "")})));
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const TarEntry& entry : *entries) {
    EXPECT_EQ(entry.size, 0) << entry.name;
    EXPECT_EQ(entry.link.empty(), entry.name == "e") << entry.name;
  }
}

TEST(TarIndex, DamageIsToldWithItsOffset) {
  const TestFolder folder;
  const std::string whole = Tar({Entry("a", "one"), Entry("b", std::string(600, 'b'))});
  const std::string path = folder.path() + "/x.tar: ";
  EXPECT_THAT(Index(folder, whole.substr(0, 1024)),
              ElementsAre(path + "offset 1024: found its end, allowed is one behind two blocks of zeros"));
  EXPECT_THAT(Index(folder, whole.substr(0, 1600)),
              ElementsAre(path + "offset 1024: found an entry of 600 bytes, the archive has 64 more"));
  EXPECT_THAT(Index(folder, "PK" + std::string(600, ' ')),
              ElementsAre(path + "offset 0: found no header of a tar archive"));
  EXPECT_THAT(Index(folder, Gzip(whole) + std::string(600, ' '))[0], HasSubstr("found compressed data"));
  std::string wrong = whole;
  wrong[1024 + 3] = 'x';
  EXPECT_THAT(Index(folder, wrong)[0], HasSubstr("offset 1024: found no header"));
  EXPECT_THAT(Index(folder, Tar({Entry("x", "99 path=a\n", 'x')}))[0], HasSubstr("found no records"));
}

const std::string kPng = PngBytes(2, 2, std::vector<uint8_t>(12, 9));

class PictureShards : public testing::Test {
 protected:
  absl::StatusOr<PictureSets> Scan(const std::string& path, BadFilePolicy policy = BadFilePolicy::kStop) {
    return ScanPictureShards(path, {policy, 0.5}, *threads_);
  }

  TestFolder folder_;
  std::shared_ptr<DecodeThreads> threads_ = DecodeThreads::Start(2).value();
};

std::vector<std::string> Names(const PictureSet& set) {
  std::vector<std::string> names;
  for (const PictureSample& sample : set.samples) names.push_back(sample.name + ":" + std::to_string(sample.label));
  return names;
}

TEST_F(PictureShards, SamplesAreEntriesOfOneName) {
  const std::string jpeg = JpegBytes(8, 8, std::vector<uint8_t>(64, 9));
  folder_.Write("train-0.tar", Tar({Entry("x/1.png", kPng), Entry("x/1.cls", "2\n"), Entry("x/1.json", "{}"),
                                    Entry("x/2.cls", "0"), Entry("x/2.jpg", jpeg)}));
  folder_.Write("train-1.tar", Tar({Entry("3.jpeg", jpeg), Entry("3.cls", "1")}));
  folder_.Write("val-0.tar", Tar({Entry("4.png", kPng), Entry("4.cls", "1")}));
  const auto sets = Scan(folder_.path());
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->classes, ElementsAre("0", "1", "2"));
  EXPECT_THAT(Names(sets->train),
              ElementsAre("train-0.tar/x/1.png:2", "train-0.tar/x/2.jpg:0", "train-1.tar/3.jpeg:1"));
  EXPECT_THAT(Names(sets->test), ElementsAre("val-0.tar/4.png:1"));
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(ReadPicture(sets->train, sets->train.samples[1], bytes).ok());
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), jpeg);
}

TEST_F(PictureShards, OneArchiveIsDividedByName) {
  std::vector<std::string> entries;
  for (int i = 0; i < 100; ++i) {
    entries.push_back(Entry(fmt::format("{}.png", i), kPng));
    entries.push_back(Entry(fmt::format("{}.cls", i), std::to_string(i % 3)));
  }
  const auto sets = Scan(folder_.Write("all.tar", Tar(entries)));
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->train.samples.size() + sets->test.samples.size(), 100u);
  EXPECT_NEAR(static_cast<double>(sets->test.samples.size()), 50, 25);
}

TEST_F(PictureShards, BadSamplesStopOrAreCounted) {
  const std::string path = folder_.Write(
      "a.tar", Tar({Entry("1.png", kPng), Entry("1.cls", "1"), Entry("2.png", kPng), Entry("3.cls", "1"),
                    Entry("4.png", "no picture"), Entry("4.cls", "0"), Entry("5.png", kPng), Entry("5.cls", "-1")}));
  EXPECT_EQ(Scan(path).status().message(), path + "/2.png: found no label (.cls) of this sample" + kSkipHint);
  const auto sets = Scan(path, BadFilePolicy::kSkip);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->bad.first, ElementsAre(path + "/2.png: found no label (.cls) of this sample",
                                           path + "/3.cls: found no picture (.jpg, .jpeg or .png) of this sample",
                                           path + "/5.cls: found '-1', allowed is a label from 0 to 16777215",
                                           path + "/4.png: found text, allowed are JPEG and PNG files"));
}

TEST_F(PictureShards, FilesOfOtherSystemsAreSkipped) {
  folder_.Write("._train.tar", "no archive");
  folder_.Write(
      "train.TAR",
      Tar({Entry("README", "text"), Entry("._1.png", "x"), Entry("1.PNG", kPng), Entry("__MACOSX/._1.png", "x"),
           Entry("1.CLS",
                 "\xef\xbb\xbf"
                 "1\r\n"),
           Entry(".DS_Store", "x"), Link("2.png", "1.PNG"), Entry("2.cls", "0"), Entry("Thumbs.db", "x")}));
  const auto sets = Scan(folder_.path());
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(Names(sets->train), ElementsAre("train.TAR/1.PNG:1", "train.TAR/2.png:0"));
  EXPECT_EQ(sets->bad.count, 0);
}

TEST_F(PictureShards, ALinkThatLeadsNowhereIsBad) {
  const std::string path =
      folder_.Write("a.tar", Tar({Entry("1.png", kPng), Entry("1.cls", "1"), Entry("2.png", kPng), Entry("2.cls", "0"),
                                  Link("3.png", "none.png"), Entry("3.cls", "0")}));
  EXPECT_EQ(Scan(path).status().message(),
            path + "/3.png: the link leads to 'none.png', which is no file of the archive" + kSkipHint);
  EXPECT_EQ(Scan(path, BadFilePolicy::kSkip).value().bad.count, 1);
}

TEST_F(PictureShards, TheOtherSetIsNotOpened) {
  folder_.Write("train-0.tar", "no archive");
  folder_.Write("test-0.tar", Tar({Entry("1.png", kPng), Entry("1.cls", "1")}));
  ScanOptions options;
  options.one_class = true;
  options.train = false;
  EXPECT_FALSE(Scan(folder_.path()).ok());
  const auto sets = ScanPictureShards(folder_.path(), options, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(Names(sets->test), ElementsAre("test-0.tar/1.png:1"));
  // Where names divide one archive, the samples of the other set may be as bad as they like.
  std::vector<std::string> entries;
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i) + ".png";
    entries.push_back(Entry(name, IsHeldOut("all.tar/" + name, 0.5) ? kPng : "no picture"));
    entries.push_back(Entry(std::to_string(i) + ".cls", IsHeldOut("all.tar/" + name, 0.5) ? "1" : "no label"));
  }
  const std::string path = folder_.Write("all.tar", Tar(entries));
  options.test_share = 0.5;
  EXPECT_GT(ScanPictureShards(path, options, *threads_).value().test.samples.size(), 5u);
}

TEST_F(PictureShards, LabelsAreThoseOfTheGraph) {
  const std::string path = folder_.Write(
      "a.tar", Tar({Entry("1.png", kPng), Entry("1.cls", "0"), Entry("2.png", kPng), Entry("2.cls", "2")}));
  ScanOptions options{BadFilePolicy::kSkip, 0.5};
  options.labels_below = 2;
  // One class of them is left.
  EXPECT_THAT(ScanPictureShards(path, options, *threads_).status().message(), HasSubstr("found the label 0 alone"));
  options.one_class = true;
  const auto sets = ScanPictureShards(path, options, *threads_);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->bad.first,
              ElementsAre(path + "/2.cls: found '2', allowed is a label from 0 to 1, which the graph tells apart"));
  options.labels_below = 3;
  EXPECT_EQ(ScanPictureShards(path, options, *threads_).value().bad.count, 0);
}

TEST_F(PictureShards, WhatCannotBeASetIsRefused) {
  EXPECT_THAT(Scan(folder_.path()).status().message(), HasSubstr("found no archives (.tar) in it"));
  folder_.Write("train.tar", Tar({Entry("1.png", kPng), Entry("1.cls", "0")}));
  EXPECT_THAT(Scan(folder_.path()).status().message(), HasSubstr("found the label 0 alone"));
  folder_.Write("more.tar", Tar({}));
  EXPECT_THAT(Scan(folder_.path()).status().message(), HasSubstr("/more.tar: found beside archives named train"));
}

}  // namespace
}  // namespace partita
