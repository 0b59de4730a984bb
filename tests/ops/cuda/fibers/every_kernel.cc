// Every kernel that a program of tests has been linked with is launched by it: a new one, or a new case of one, is not
// forgotten. Of f64, which serves comparisons alone, its case in f32 is enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/ops/cuda/fibers/kernels.h"

namespace partita::fibers {
namespace {

std::string InF32(std::string name) {
  static const std::string& wide = *new std::string("double");
  for (size_t at = name.find(wide); at != std::string::npos; at = name.find(wide)) {
    name.replace(at, wide.size(), "float");
  }
  return name;
}

class EveryKernel : public testing::Environment {
 public:
  // Where all tests have run.
  void TearDown() override {
    const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count()) return;
    const std::vector<std::string> compiled = Compiled();
    for (const std::string& name : NotLaunched()) {
      const std::string narrow = InF32(name);
      if (narrow != name && std::ranges::find(compiled, narrow) != compiled.end()) continue;
      ADD_FAILURE() << "no test launches " << name;
    }
  }
};

[[maybe_unused]] const testing::Environment* const every_kernel = testing::AddGlobalTestEnvironment(new EveryKernel);

}  // namespace
}  // namespace partita::fibers
