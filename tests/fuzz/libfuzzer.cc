// The targets as LLVM's libFuzzer drives them: by what of the code each input reaches. It passes over flags that begin
// with two dashes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/targets/targets.h"

namespace {

constexpr char kFlag[] = "--target=";
const partita::FuzzTarget* target = nullptr;

}  // namespace

// What libFuzzer counts besides what clang tells it: how often each branch was taken, by a hash of where it lies. gcc
// tells by calls that libFuzzer no longer takes itself; the linker leads them here (tests/fuzz/BUILD).
constexpr size_t kBranches = 1 << 16;
__attribute__((section("__libfuzzer_extra_counters"), used)) uint8_t taken[kBranches];

extern "C" void __wrap___sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  ++taken[(place ^ place >> 16) % kBranches];
}

// gcc tells of floating comparisons too, of which libFuzzer wants to know nothing.
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string argument = (*argv)[i];
    if (argument.starts_with(kFlag)) target = partita::FindFuzzTarget(argument.substr(sizeof kFlag - 1));
  }
  if (target != nullptr) return 0;
  std::fprintf(stderr, "libfuzzer: %sNAME is needed; allowed are\n", kFlag);
  for (const partita::FuzzTarget& each : partita::FuzzTargets()) std::fprintf(stderr, "  %s\n", each.name);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  target->feed(std::string(reinterpret_cast<const char*>(bytes), count));
  return 0;
}
