#include "tools/commands/input/run_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace partita {
namespace {

// NCCL_ALGO once a command has checked its device; "": not set.
std::string AlgorithmsAfter(const std::vector<FlagDefinition>& more, const std::vector<std::string>& arguments) {
  std::vector<FlagDefinition> flags = {ChoiceFlag("device", "host", {"host", "cuda"}, ""),
                                       IntFlag("gpu", "-1", -1, 64, ""), BoolFlag("launch-each", "")};
  flags.insert(flags.end(), more.begin(), more.end());
  const FlagEnvironment empty{.get = [](const char*) -> const char* { return nullptr; }, .read = nullptr};
  const absl::StatusOr<Flags> parsed = Flags::Parse(flags, flags, arguments, empty);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  CheckDevice(*parsed).IgnoreError();  // there may be no GPU
  const char* const algorithms = std::getenv("NCCL_ALGO");
  return algorithms == nullptr ? "" : algorithms;
}

TEST(CheckDevice, ExcludesNvlsFromDeterministicRunsOnGpus) {
  const std::vector<FlagDefinition> train = {BoolFlag("deterministic", "")}, verify = {};
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(AlgorithmsAfter(train, {"--deterministic"}), "") << "on the host";
  EXPECT_EQ(AlgorithmsAfter(train, {"--device=cuda"}), "") << "NVLS may be faster";
  EXPECT_EQ(AlgorithmsAfter(train, {"--device=cuda", "--deterministic"}), "^NVLS,NVLSTree");
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(AlgorithmsAfter(verify, {"--device=cuda"}), "^NVLS,NVLSTree");
  setenv("NCCL_ALGO", "Ring", 1);
  EXPECT_EQ(AlgorithmsAfter(train, {"--device=cuda", "--deterministic"}), "Ring") << "the user's";
}

}  // namespace
}  // namespace partita
