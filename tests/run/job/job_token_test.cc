// Where the job's token comes from, and which are refused.
#include "run/job/job_token.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<std::string> Find(const std::map<std::string, std::string>& variables) {
  return FindToken([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string FileWith(const std::string& text) {
  const std::string path = testing::TempDir() + "/token";
  std::ofstream(path) << text;
  return path;
}

TEST(JobToken, OfAVariableOrAFile) {
  EXPECT_EQ(*Find({}), "");
  EXPECT_EQ(*Find({{kTokenVariable, "sixteen letters."}}), "sixteen letters.");
  EXPECT_EQ(*Find({{kTokenFileVariable, FileWith("sixteen letters.\nand more\n")}}), "sixteen letters.");
  EXPECT_EQ(*Find({{kTokenFileVariable, FileWith("sixteen letters.")}}), "sixteen letters.");
}

TEST(JobToken, RefusesWhatCouldBeGuessed) {
  const auto refused = [](const std::map<std::string, std::string>& variables, const std::string& words) {
    const absl::Status status = Find(variables).status();
    EXPECT_EQ(ToExitCode(status), kExitFlags);
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  };
  refused({{kTokenVariable, "fifteen letters"}}, "PARTITA_JOB_TOKEN has 15 characters, at least 16");
  refused({{kTokenFileVariable, FileWith("short\nsixteen letters.")}}, "PARTITA_JOB_TOKEN_FILE has 5 characters");
  refused({{kTokenFileVariable, "/nowhere/token"}}, "/nowhere/token");
  refused({{kTokenVariable, "sixteen letters."}, {kTokenFileVariable, "/nowhere/token"}}, "both set");
}

}  // namespace
}  // namespace partita
