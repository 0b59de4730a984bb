// The flags of the benchmarks, one line each. A command names those that it takes (tools/program/program.h).
#ifndef PARTITA_TOOLS_BENCHMARK_FLAGS_H_
#define PARTITA_TOOLS_BENCHMARK_FLAGS_H_

#include <vector>

#include "tools/program/flags.h"

namespace partita {

std::vector<FlagDefinition> BenchmarkFlags();

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARK_FLAGS_H_
