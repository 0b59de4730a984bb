#include "runtime/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What the levels info and warn leave on (standard error, standard output).
std::pair<std::string, std::string> Captured(const std::string& level) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(SetUpLog(level).ok());
  spdlog::info("the info {}", 1);
  spdlog::warn("the warning");
  std::string out = ::testing::internal::GetCapturedStdout();
  return {::testing::internal::GetCapturedStderr(), out};
}

TEST(Log, GoesToStandardErrorFromItsLevelOn) {
  const auto [info, info_out] = Captured("info");
  EXPECT_THAT(info, HasSubstr("info the info 1\n"));
  EXPECT_THAT(info, HasSubstr("warning the warning\n"));
  EXPECT_EQ(info_out, "");
  const auto [warn, warn_out] = Captured("warn");
  EXPECT_THAT(warn, Not(HasSubstr("the info")));
  EXPECT_THAT(warn, HasSubstr("the warning"));
  EXPECT_EQ(Captured("off").first, "");
}

TEST(Log, JsonHasTheTimeInUtcAndEscapes) {
  ::testing::internal::CaptureStderr();
  const auto before = std::chrono::system_clock::now();
  ASSERT_TRUE(SetUpLog("info", LogFormat::kJson).ok());
  spdlog::debug("not this");
  spdlog::warn("a \"quoted\"\nline {}", 1);
  spdlog::info("\xff");
  std::istringstream lines(::testing::internal::GetCapturedStderr());
  std::string text;
  ASSERT_TRUE(std::getline(lines, text));
  const nlohmann::json line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["message"], "a \"quoted\"\nline 1");
  std::tm time{};
  ASSERT_NE(strptime(line["time"].get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%S", &time), nullptr);
  EXPECT_THAT(line["time"].get<std::string>(), ::testing::MatchesRegex("....-..-..T..:..:..\\....Z"));
  EXPECT_NEAR(static_cast<double>(timegm(&time)), static_cast<double>(std::chrono::system_clock::to_time_t(before)),
              60);
  ASSERT_TRUE(std::getline(lines, text));
  EXPECT_TRUE(nlohmann::json::accept(text)) << "bytes that are no UTF-8 are replaced";
  EXPECT_FALSE(std::getline(lines, text));
}

// What a warning writes to a terminal. A read returns what the kernel has passed on so far: the text is whole once the
// terminal's side is closed and reading fails.
std::string SaidToTerminal() {
  int keyboard = -1, terminal = -1;
  EXPECT_EQ(openpty(&keyboard, &terminal, nullptr, nullptr, nullptr), 0);
  const int before = dup(STDERR_FILENO);
  dup2(terminal, STDERR_FILENO);
  EXPECT_TRUE(SetUpLog("info").ok());
  spdlog::warn("the warning");
  dup2(before, STDERR_FILENO);
  for (const int file : {before, terminal}) close(file);
  std::string said;
  char text[256];
  for (ssize_t count; (count = read(keyboard, text, sizeof(text))) > 0;) said.append(text, count);
  close(keyboard);
  return said;
}

TEST(Log, HasColourOnATerminalUnlessItIsUnwanted) {
  setenv("TERM", "xterm-256color", 1);
  unsetenv("NO_COLOR");
  EXPECT_THAT(SaidToTerminal(), HasSubstr("\x1b[33m"));
  setenv("NO_COLOR", "1", 1);
  const std::string plain = SaidToTerminal();
  EXPECT_THAT(plain, HasSubstr("warning the warning"));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b[33m")));
  setenv("TERM", "dumb", 1);
  EXPECT_THAT(SaidToTerminal(), Not(HasSubstr("\x1b")));
}

TEST(Log, UnknownLevelIsRefusedAndChangesNothing) {
  ASSERT_TRUE(SetUpLog("error").ok());
  EXPECT_EQ(SetUpLog("loud").message(), "log level: found 'loud', allowed are trace, debug, info, warn, error, off");
  EXPECT_EQ(SetUpLog("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spdlog::default_logger()->level(), spdlog::level::err);
}

}  // namespace
}  // namespace partita
