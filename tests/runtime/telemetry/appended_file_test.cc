#include "runtime/telemetry/appended_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/base/status.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Fresh(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name;
  std::filesystem::remove(path);
  return path;
}

absl::Status AppendTo(const std::string& path, const std::string& line) {
  ASSIGN_OR_RETURN(AppendedFile file, AppendedFile::Open(path));
  return file.AppendLine(line);
}

TEST(AppendedFile, LinesAreThereAtOnceAndStay) {
  const std::string path = Fresh("lines");
  absl::StatusOr<AppendedFile> file = AppendedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->AppendLine("a").ok());
  EXPECT_EQ(Contents(path), "a\n");
  ASSERT_TRUE(AppendTo(path, "b").ok());
  ASSERT_TRUE(file->AppendLine("c").ok());
  EXPECT_EQ(Contents(path), "a\nb\nc\n");
}

TEST(AppendedFile, AHalfLineIsEndedFirst) {
  const std::string path = Fresh("half");
  std::ofstream(path) << "whole\nhal";
  ASSERT_TRUE(AppendTo(path, "next").ok());
  ASSERT_TRUE(AppendTo(path, "last").ok());
  EXPECT_EQ(Contents(path), "whole\nhal\nnext\nlast\n");
}

TEST(AppendedFile, AFullDiskIsToldEachTime) {
  absl::StatusOr<AppendedFile> file = AppendedFile::Open("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status();
  for (int i = 0; i < 2; ++i) {
    const absl::Status full = file->AppendLine("a");
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(full.message()), HasSubstr("/dev/full: cannot write: No space left on device"));
  }
}

TEST(AppendedFile, LinksOfStrangersAndFoldersAreRefused) {
  const std::string link = Fresh("link"), target = Fresh("target");
  std::filesystem::create_symlink(target, link);
  for (const std::string& path : {link, testing::TempDir(), std::string("/none/file")}) {
    const absl::Status refused = AppendTo(path, "a");
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(path + ": cannot write: "));
  }
  EXPECT_FALSE(std::filesystem::exists(target));
}

}  // namespace
}  // namespace partita
