// Measures what the library's interfaces cost: steps and predictions of one sample by the runtime's own session, by
// partita.h and by the C interface, in turns in one run.
#ifndef PARTITA_TOOLS_BENCHMARKS_LIBRARY_LIBRARY_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_LIBRARY_LIBRARY_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct LibraryBenchmarkOptions {
  std::vector<std::string> models{"mlp", "lenet5", "mini-inception"};
  int64_t batch = 64;  // of steps
  int64_t steps = 20;  // of an interface in a round; predictions, which are short, are ten times as many
  int64_t rounds = 7;
};

// Medians over the rounds. Ratios are to the runtime's session in the same round.
struct LibraryRow {
  std::string model;
  std::string call;                           // "step", "predict"
  int64_t batch = 0;                          // samples of a call
  double own_us = 0;                          // of a call of the runtime's session
  double cpp = 0, c = 0;                      // ratios of times
  double c_low = 0, c_high = 0;               // interval of the median of `c`
  double cpp_processor = 0, c_processor = 0;  // ratios of the process's processor time, which others disturb less
};

absl::StatusOr<std::vector<LibraryRow>> BenchmarkLibrary(const LibraryBenchmarkOptions& options);

std::string ToText(const std::vector<LibraryRow>& rows);
std::string ToJson(const std::vector<LibraryRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_LIBRARY_LIBRARY_BENCHMARK_H_
