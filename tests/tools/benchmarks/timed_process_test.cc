// A program that answers lines, and those that end, fail or hang in place of an answer.
#include "tools/benchmarks/timed_process.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

constexpr std::chrono::milliseconds kSoon{200};

absl::StatusOr<std::unique_ptr<TimedProcess>> Shell(
    const std::string& script, std::chrono::milliseconds longest_wait = TimedProcess::kLongestWait) {
  return TimedProcess::Start({"/bin/sh", "-c", "echo a shell; echo ready; " + script}, {}, longest_wait);
}

TEST(TimedProcess, AnswersLines) {
  const auto process = Shell("while read line; do printf 'heard '; echo $line; done");
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ((*process)->version(), "a shell");
  EXPECT_EQ(*(*process)->Ask("one"), "heard one");
  EXPECT_EQ(*(*process)->Ask("two"), "heard two");
  EXPECT_EQ((*process)->Run(3).status().message(), "a shell answered 'heard 3'; seconds are needed");
}

// Lines that come together are answers to as many questions.
TEST(TimedProcess, KeepsWhatFollowsALine) {
  const auto process = Shell("echo 1.5; echo 2.5; read line; read line");
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(*(*process)->Run(1), 1.5);
  EXPECT_EQ(*(*process)->Run(1), 2.5);
}

TEST(TimedProcess, SaysHowItEnded) {
  const std::pair<const char*, absl::Status> cases[] = {
      {"read line; exit 3", absl::InternalError("a shell ended with exit code 3 in place of an answer")},
      {"read line; exit 4", absl::ResourceExhaustedError("a shell ended with exit code 4")},
      {"read line; kill -9 $$", absl::InternalError("a shell was ended by signal 9")},
  };
  for (const auto& [script, expected] : cases) {
    const auto process = Shell(script);
    ASSERT_TRUE(process.ok()) << process.status();
    EXPECT_EQ((*process)->Ask("a line").status(), expected);
    EXPECT_EQ((*process)->Ask("another").status().message(), "a shell has ended");
  }
  EXPECT_EQ(TimedProcess::Start({"/no/such/program"}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TimedProcess, OneThatHangsIsKilled) {
  const auto process = Shell("read line; exec sleep 1000", kSoon);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ((*process)->Ask("a line").status(),
            absl::DeadlineExceededError("a shell gave no answer within 0.2 s and was killed"));
  EXPECT_EQ((*process)->Ask("another").status().message(), "a shell has ended");
  EXPECT_EQ(TimedProcess::Start({"/bin/sh", "-c", "exec sleep 1000"}, {}, kSoon).status(),
            absl::DeadlineExceededError("a process gave no answer within 0.2 s and was killed"));
}

// Half a line, again and again, is no answer.
TEST(TimedProcess, OneThatNeverEndsALineIsKilled) {
  const auto process = Shell("read line; while printf x; do sleep 0.01; done", kSoon);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ((*process)->Ask("a line").status().code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace partita
