#include "run/solver/limited_process.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

constexpr std::chrono::seconds kLong(60);

TEST(RunLimited, GivesWhatAProgramWrites) {
  const auto text = RunLimited({"sh", "-c", "echo one; echo two >&2; cat"}, kLong);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "one\ntwo\n") << "it reads nothing";
}

TEST(RunLimited, SaysHowAProgramFails) {
  const auto message = [](const std::string& script, std::chrono::milliseconds limit) {
    const absl::Status status = RunLimited({"sh", "-c", script}, limit).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(message("exit 3", kLong), "sh ended with exit code 3");
  EXPECT_EQ(message("kill -SEGV $$", kLong), "sh was ended by signal 11");
  EXPECT_EQ(message("exec sleep 60", std::chrono::milliseconds(1100)), "sh was not over after 1 s");
  EXPECT_EQ(RunLimited({"no-such-program"}, kLong).status().message(),
            "no-such-program does not start: No such file or directory");
}

}  // namespace
}  // namespace partita
