#include "tools/commands/processes/set_up.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace partita {
namespace {

// NCCL_ALGO once the process is set up; "": not set.
std::string AlgorithmsAfter(const std::string& device, bool deterministic) {
  RunSpec spec;
  spec.mutable_execution()->set_device(device);
  spec.mutable_execution()->set_deterministic(deterministic);
  EXPECT_TRUE(SetUpProcess(spec).ok());
  const char* const algorithms = std::getenv("NCCL_ALGO");
  return algorithms == nullptr ? "" : algorithms;
}

TEST(SetUpProcess, ExcludesNvlsFromDeterministicRunsOnGpus) {
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(AlgorithmsAfter("host", true), "") << "on the host";
  EXPECT_EQ(AlgorithmsAfter("cuda", false), "") << "NVLS may be faster";
  EXPECT_EQ(AlgorithmsAfter("cuda", true), "^NVLS,NVLSTree");
  setenv("NCCL_ALGO", "Ring", 1);
  EXPECT_EQ(AlgorithmsAfter("cuda", true), "Ring") << "the user's";
}

}  // namespace
}  // namespace partita
