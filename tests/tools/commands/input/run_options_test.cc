#include "tools/commands/input/run_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace partita {
namespace {

// NCCL_ALGO once a command has checked its device; "": not set.
std::string AlgorithmsAfter(const std::string& device, bool deterministic) {
  RunSpec spec;
  spec.mutable_execution()->set_device(device);
  CheckDevice(spec, deterministic).IgnoreError();  // there may be no GPU
  const char* const algorithms = std::getenv("NCCL_ALGO");
  return algorithms == nullptr ? "" : algorithms;
}

TEST(CheckDevice, ExcludesNvlsFromDeterministicRunsOnGpus) {
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(AlgorithmsAfter("host", true), "") << "on the host";
  EXPECT_EQ(AlgorithmsAfter("cuda", false), "") << "NVLS may be faster";
  EXPECT_EQ(AlgorithmsAfter("cuda", true), "^NVLS,NVLSTree");
  setenv("NCCL_ALGO", "Ring", 1);
  EXPECT_EQ(AlgorithmsAfter("cuda", true), "Ring") << "the user's";
}

}  // namespace
}  // namespace partita
