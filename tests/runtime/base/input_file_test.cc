#include "runtime/base/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/base/files.h"

namespace partita {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class InputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/in_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

  std::string folder_;
};

std::string Refusal(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

std::string Next(InputFile& file, int64_t count) {
  std::string bytes;
  EXPECT_EQ(file.Append(count, bytes), absl::OkStatus());
  return bytes;
}

TEST_F(InputFileTest, IsReadInPieces) {
  EXPECT_EQ(*ReadRegularFile(Write("whole", "all of it"), 9), "all of it");
  EXPECT_THAT(Refusal(ReadRegularFile(Path("whole"), 8).status()), HasSubstr("found 9 bytes, allowed are at most 8"));
  auto file = InputFile::Open(Write("file", "headtail"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 8);
  EXPECT_EQ(Next(*file, 4), "head");
  EXPECT_EQ(file->rest(), 4);
  EXPECT_THAT(Refusal(file->CheckEnd()), HasSubstr("found more than 4 bytes"));
}

TEST_F(InputFileTest, WhatHasNoSizeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "/tmp/partita_" + std::to_string(::getpid());
  std::strncpy(address.sun_path, name.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_THAT(Refusal(InputFile::Open(Path("pipe")).status()), EndsWith("found a pipe, allowed is a file"));
  EXPECT_THAT(Refusal(InputFile::Open("/dev/zero").status()), EndsWith("found a device, allowed is a file"));
  EXPECT_THAT(Refusal(InputFile::Open(folder_).status()), EndsWith("found a directory, allowed is a file"));
  EXPECT_THAT(Refusal(InputFile::Open(name).status()), HasSubstr("cannot open"));
  EXPECT_THAT(Refusal(ReadRegularFile(Path("pipe"), 1 << 20).status()), HasSubstr("found a pipe"));
  EXPECT_THAT(Refusal(ReadRegularFile("/dev/zero", 1 << 20).status()), HasSubstr("found a device"));
  EXPECT_THAT(Refusal(ReadFile("/dev/zero", 1 << 20).status()),
              EndsWith("found a device, allowed is a file or a pipe"));
  ::close(fd);
  ::unlink(name.c_str());
}

TEST_F(InputFileTest, AFileThatChangesIsRefused) {
  std::string bytes;
  auto shorter = InputFile::Open(Write("shorter", "12345678"));
  ASSERT_TRUE(shorter.ok());
  ASSERT_EQ(::truncate(Path("shorter").c_str(), 3), 0);
  EXPECT_THAT(Refusal(shorter->Append(8, bytes)), HasSubstr("found its end after 3 bytes, it had 8"));
  auto longer = InputFile::Open(Write("longer", "12345678"));
  ASSERT_TRUE(longer.ok());
  EXPECT_EQ(Next(*longer, 8), "12345678");
  EXPECT_TRUE(longer->CheckEnd().ok());
  std::ofstream(Path("longer"), std::ios::app) << "9";
  EXPECT_THAT(Refusal(longer->CheckEnd()), HasSubstr("found more than 8 bytes"));
}

// A hole of more bytes than any machine has memory.
TEST_F(InputFileTest, MoreThanThereIsMemoryIsNotEvenTried) {
  const std::string path = Write("sparse", "");
  ASSERT_EQ(::truncate(path.c_str(), int64_t{1} << 43), 0);
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok());
  std::string bytes;
  EXPECT_EQ(file->Append(file->rest(), bytes).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadRegularFile(path, int64_t{1} << 44).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Next(*file, 2), std::string(2, '\0'));
}

}  // namespace
}  // namespace partita
