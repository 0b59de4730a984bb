#include "runtime/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

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

TEST(Log, UnknownLevelIsRefusedAndChangesNothing) {
  ASSERT_TRUE(SetUpLog("error").ok());
  EXPECT_EQ(SetUpLog("loud").message(), "log level: found 'loud', allowed are trace, debug, info, warn, error, off");
  EXPECT_EQ(SetUpLog("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spdlog::default_logger()->level(), spdlog::level::err);
}

}  // namespace
}  // namespace partita
