#include "runtime/base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kLimit = 1 << 20;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/files_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  int Entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::string folder_;
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string binary("a\0b\xff\n", 5);
  for (const std::string& contents : {std::string(), binary, std::string(kLimit, 'x')}) {
    ASSERT_TRUE(WriteFileAtomically(Path("file"), contents).ok());
    EXPECT_EQ(ReadFile(Path("file"), kLimit).value(), contents);
  }
  EXPECT_EQ(Entries(), 1);
}

TEST_F(Files, PiecesAreConcatenated) {
  const std::vector<std::string_view> pieces = {"one ", "", "two"};
  ASSERT_TRUE(WriteFileAtomically(Path("file"), pieces).ok());
  EXPECT_EQ(ReadFile(Path("file"), kLimit).value(), "one two");
}

TEST_F(Files, LimitIsInclusive) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "12345").ok());
  EXPECT_TRUE(ReadFile(Path("file"), 5).ok());
  const absl::Status status = ReadFile(Path("file"), 4).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("5 bytes, allowed are at most 4"));
}

TEST_F(Files, DevicesAreRefused) {
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    EXPECT_EQ(Message(ReadFile(device, kLimit).status()),
              std::string(device) + ": found a device, allowed is a file or a pipe");
  }
}

TEST_F(Files, MoreThanThereIsMemoryIsNotEvenTried) {
  ASSERT_TRUE(WriteFileAtomically(Path("sparse"), "").ok());
  ASSERT_EQ(::truncate(Path("sparse").c_str(), int64_t{1} << 43), 0);
  EXPECT_EQ(ReadFile(Path("sparse"), int64_t{1} << 44).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(Files, PipeIsReadToItsEnd) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::string contents(300'000, 'p');
  std::thread writer([&] { EXPECT_TRUE(WriteFileAtomically(Path("pipe"), contents).ok()); });
  EXPECT_EQ(ReadFile(Path("pipe"), kLimit).value(), contents);
  writer.join();
  EXPECT_EQ(Entries(), 1);
}

// A pipe that nobody writes into is no file: it is given up, whether somebody has opened it or not.
TEST_F(Files, SilentPipeIsGivenUp) {
  constexpr std::chrono::milliseconds kPatience(50);
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(Message(ReadFile(Path("pipe"), kLimit, kPatience).status()),
            Path("pipe") + ": nobody has written into it for 0.1 s");
  const int writer = ::open(Path("pipe").c_str(), O_RDWR);
  EXPECT_THAT(Message(ReadFile(Path("pipe"), kLimit, kPatience).status()), HasSubstr("nobody has written into it"));
  ASSERT_EQ(::write(writer, "x", 1), 1);
  EXPECT_THAT(Message(ReadFile(Path("pipe"), kLimit, kPatience).status()), HasSubstr("nobody has written into it"));
  ::close(writer);
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  const absl::Status missing = ReadFile(Path("nothing"), kLimit).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(missing), Path("nothing") + ": cannot open: No such file or directory");
  EXPECT_THAT(Message(ReadFile(folder_, kLimit).status()), HasSubstr("found a directory"));
  EXPECT_THAT(Message(WriteFileAtomically(folder_, "x")), HasSubstr("found a directory"));
  EXPECT_EQ(Message(WriteFileAtomically(Path("no/file"), "x")),
            Path("no/file") + ": cannot create a file beside it: No such file or directory");
}

TEST_F(Files, FullDeviceIsResourceExhausted) {
  const absl::Status status = WriteFileAtomically("/dev/full", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("No space left on device"));
}

// A terminal whose other end goes away while it is written to fails as a broken disk does.
TEST_F(Files, DeviceThatFailsIsResourceExhausted) {
  const int other = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (other < 0 || ::grantpt(other) != 0 || ::unlockpt(other) != 0) GTEST_SKIP() << "there are no terminals here";
  const std::string terminal = ::ptsname(other);
  absl::Status status;
  std::thread writer([&] { status = WriteFileAtomically(terminal, std::string(kLimit, 'x')); });
  char byte;
  EXPECT_EQ(::read(other, &byte, 1), 1);  // it is open and being written
  ::close(other);
  writer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("cannot write: Input/output error"));
}

// Ended in the middle of a write by a signal, as by SIGKILL.
TEST_F(Files, KilledWriteLeavesTheOldFileAndNothingElse) {
  const int nameless = ::open(folder_.c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system knows no files without a name";
  ::close(nameless);
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit small = {1000, 1000};
    const struct rlimit none = {0, 0};
    std::signal(SIGXFSZ, SIG_DFL);
    ::setrlimit(RLIMIT_CORE, &none);
    ::setrlimit(RLIMIT_FSIZE, &small);
    WriteFileAtomically(Path("file"), std::string(5000, 'n')).IgnoreError();
    ::_exit(0);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ);
  EXPECT_EQ(ReadFile(Path("file"), kLimit).value(), "old");
  EXPECT_EQ(Entries(), 1);
}

// A failure half-way, by the process's own limit on file sizes.
TEST_F(Files, FailedWriteLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteFileAtomically(Path("file"), std::string(5000, 'n'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("cannot write: File too large"));
  EXPECT_EQ(ReadFile(Path("file"), kLimit).value(), "old");
  EXPECT_EQ(Entries(), 1);
}

// Whatever it leads to: a file, nothing, a pipe, a folder.
TEST_F(Files, LinksAreRefused) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  std::filesystem::create_directory(Path("folder"));
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  for (const char* target : {"target", "none", "folder", "pipe", "link"}) {
    ASSERT_EQ(::symlink(target, Path("link").c_str()), 0);
    const absl::Status refused[] = {
        WriteFileAtomically(Path("link"), "new"),
        WriteFileAtomically(
            Path("link"), [](const WriteBytes&) { return absl::OkStatus(); }, [] { return std::string("new"); })};
    for (const absl::Status& status : refused) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(Message(status), HasSubstr("link: is a symbolic link")) << target;
    }
    EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
    ASSERT_EQ(::unlink(Path("link").c_str()), 0);
  }
  EXPECT_EQ(ReadFile(Path("target"), kLimit).value(), "old");
  EXPECT_FALSE(std::filesystem::exists(Path("none")));
}

TEST_F(Files, TheSystemsOwnLinksAreFollowed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(WriteFileAtomically("/dev/fd/" + std::to_string(ends[1]), "new").ok());
  char bytes[8] = {};
  EXPECT_EQ(::read(ends[0], bytes, sizeof(bytes)), 3);
  EXPECT_STREQ(bytes, "new");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Files, ModeSurvives) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  ASSERT_EQ(::chmod(Path("target").c_str(), 0600), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "new").ok());
  EXPECT_EQ(ReadFile(Path("target"), kLimit).value(), "new");
  struct stat info;
  ASSERT_EQ(::stat(Path("target").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// Readers see one of the whole files, whoever writes last.
// Of a process of the same number in another container, which was killed while it wrote.
TEST_F(Files, LeftOversOfOthersAreNotInTheWay) {
  constexpr int kLeft = 1000;
  for (int i = 0; i < kLeft; ++i) {
    std::ofstream(Path("file.tmp-" + std::to_string(::getpid()) + "-" + std::to_string(i))) << "a part";
  }
  const absl::Status written = WriteFileAtomically(Path("file"), "whole");
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(Entries(), kLeft + 1);
}

TEST_F(Files, ConcurrentWritersNeverMix) {
  std::vector<std::thread> writers;
  for (char c : {'a', 'b', 'c'}) {
    writers.emplace_back([this, c] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(WriteFileAtomically(Path("file"), std::string(10'000, c)).ok());
    });
  }
  for (int i = 0; i < 200; ++i) {
    const auto contents = ReadFile(Path("file"), kLimit);
    if (!contents.ok()) continue;
    ASSERT_EQ(contents->size(), 10'000u);
    ASSERT_EQ(*contents, std::string(10'000, contents->front()));
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Entries(), 1);
}

}  // namespace
}  // namespace partita
