#include "ops/plans/plan_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

namespace partita {
namespace {

namespace fs = std::filesystem;

class PlanCacheTest : public testing::Test {
 protected:
  PlanCacheTest()
      : folder_(testing::TempDir() + "/plans_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
  }
  fs::path OnlyFile() const { return fs::directory_iterator(folder_)->path(); }

  const std::string folder_;
};

TEST_F(PlanCacheTest, OutlivesTheProcess) {
  const std::string plan("{\"engine\": 3}\n\0tail", 19);
  EXPECT_TRUE(PlanCache(folder_).Add("conv 1x2", plan));
  PlanCache later(folder_);
  EXPECT_EQ(later.Find("conv 1x2"), plan);
  EXPECT_EQ(later.Find("conv 1x3"), std::nullopt);
  later.Add("conv 1x2", "other");
  EXPECT_EQ(later.Find("conv 1x2"), "other");
  EXPECT_EQ(PlanCache(folder_).Find("conv 1x2"), "other");
}

TEST_F(PlanCacheTest, WithoutAFolderItIsMemoryAlone) {
  PlanCache cache;
  EXPECT_TRUE(cache.Add("a", "plan"));
  EXPECT_EQ(cache.Find("a"), "plan");
  EXPECT_EQ(PlanCache().Find("a"), std::nullopt);
}

// Cut short or changed anywhere, a file counts as absent.
TEST_F(PlanCacheTest, ADamagedFileIsNoPlan) {
  PlanCache(folder_).Add("key", "the plan");
  std::stringstream whole;
  whole << std::ifstream(OnlyFile()).rdbuf();
  const std::string text = whole.str();
  for (size_t i = 0; i < text.size(); ++i) {
    std::ofstream(OnlyFile(), std::ios::trunc) << text.substr(0, i);
    EXPECT_EQ(PlanCache(folder_).Find("key"), std::nullopt) << i;
    std::string changed = text;
    changed[i] ^= 1;
    std::ofstream(OnlyFile(), std::ios::trunc) << changed;
    EXPECT_EQ(PlanCache(folder_).Find("key"), std::nullopt) << i;
  }
  std::ofstream(OnlyFile(), std::ios::trunc) << text << "more";
  EXPECT_EQ(PlanCache(folder_).Find("key"), std::nullopt);
  std::ofstream(OnlyFile(), std::ios::trunc) << text;
  EXPECT_EQ(PlanCache(folder_).Find("key"), "the plan");
}

TEST_F(PlanCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  std::ofstream(folder_) << "a file";
  PlanCache cache(folder_);
  EXPECT_FALSE(cache.Add("key", "plan"));
  EXPECT_EQ(cache.Find("key"), "plan");
  EXPECT_EQ(PlanCache(folder_).Find("key"), std::nullopt);
  fs::remove(folder_);
}

// Each is told in a line that names the file, and replaced by the next plan for the key.
TEST_F(PlanCacheTest, WhatIsWrongWithFilesIsTold) {
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& warning) { warnings.push_back(warning); };
  const auto cache = [&] { return std::make_unique<PlanCache>(folder_, warn); };
  EXPECT_EQ(cache()->Find("key"), std::nullopt);
  cache()->Add("key", "the plan");
  EXPECT_TRUE(warnings.empty());
  const fs::path path = OnlyFile();
  std::ofstream(path, std::ios::trunc) << "garbage";
  auto damaged = cache();
  EXPECT_EQ(damaged->Find("key"), std::nullopt);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], path.string() + ": the plan is damaged and is made anew");
  damaged->Add("key", "a new plan");
  EXPECT_EQ(cache()->Find("key"), "a new plan");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no temporary file is left";
  // Another key's file in this one's place.
  PlanCache(folder_ + "/other").Add("another key", "its plan");
  fs::copy_file(fs::directory_iterator(folder_ + "/other")->path(), path, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache()->Find("key"), std::nullopt);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[1], path.string() + ": the plan is of 'another key' and is made anew for 'key'");
  // A folder in its place can be neither read nor replaced.
  fs::remove(path);
  fs::create_directories(path / "inside");
  auto blocked = cache();
  EXPECT_EQ(blocked->Find("key"), std::nullopt);
  blocked->Add("key", "in memory");
  blocked->Add("key", "in memory still");
  EXPECT_EQ(blocked->Find("key"), "in memory still");
  ASSERT_EQ(warnings.size(), 4u) << "that plans cannot be written is told once";
  EXPECT_NE(warnings[3].find("plans are not kept for the next run: "), std::string::npos) << warnings[3];
}

// A folder may be shared, and another user may put there what blocks a writer.
TEST_F(PlanCacheTest, APipeIsNotWaitedFor) {
  PlanCache(folder_).Add("key", "the plan");
  const fs::path path = OnlyFile();
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::vector<std::string> warnings;
  PlanCache cache(folder_, [&](const std::string& warning) { warnings.push_back(warning); });
  EXPECT_EQ(cache.Find("key"), std::nullopt);
  EXPECT_FALSE(cache.Add("key", "in memory"));
  EXPECT_EQ(cache.Find("key"), "in memory");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[1], "plans are not kept for the next run: " + path.string() +
                             ": is not a regular file; expected a file, or nothing: remove it");
}

TEST_F(PlanCacheTest, AFolderThatCannotBeMadeIsToldOnce) {
  std::ofstream(folder_) << "a file";
  std::vector<std::string> warnings;
  PlanCache cache(folder_, [&](const std::string& warning) { warnings.push_back(warning); });
  cache.Add("a", "1");
  cache.Add("b", "2");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(folder_), std::string::npos) << warnings[0];
  fs::remove(folder_);
}

// The lowest rank's plans take the place of the others' own.
TEST_F(PlanCacheTest, PlansGoToOtherRanks) {
  PlanCache lowest, other;
  lowest.Add("a", "plan a\n");
  lowest.Add("b", "");
  other.Add("a", "its own");
  other.Add("c", "kept");
  ASSERT_TRUE(other.Import(lowest.Export()).ok());
  EXPECT_EQ(other.Find("a"), "plan a\n");
  EXPECT_EQ(other.Find("b"), "");
  EXPECT_EQ(other.Find("c"), "kept");
  const std::string text = lowest.Export();
  for (size_t i = 1; i < text.size(); ++i) {
    PlanCache fresh;
    const absl::Status status = fresh.Import(text.substr(0, i));
    if (status.ok()) {
      EXPECT_EQ(fresh.Find("a"), "plan a\n") << i;  // a whole first entry
    } else {
      EXPECT_EQ(fresh.Export(), "") << i;
    }
  }
  EXPECT_TRUE(PlanCache().Import("").ok());
}

}  // namespace
}  // namespace partita
