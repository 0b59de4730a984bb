// The command `benchmark oracle`.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_COMMAND_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/benchmark.pb.h"
#include "tools/program/program.h"

namespace partita {

// All that are shipped.
std::vector<std::string> OracleModelNames();
absl::StatusOr<int> RunOracle(const ContextOf<BenchmarkSpec>& context);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_COMMAND_H_
