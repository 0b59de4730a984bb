// Strategies that were found or changed, as files that say why.
#ifndef PARTITA_RUN_PLAN_REPORT_STRATEGY_FILE_H_
#define PARTITA_RUN_PLAN_REPORT_STRATEGY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/derive/strategy.h"
#include "partitioner/choose/candidate.h"

namespace partita {

// With the reasons as comments at the beginning.
std::string PrintStrategyWithReasons(const Strategy& strategy, const std::vector<std::string>& reasons);

// As LoadStrategy reads it; the extension says the format. Text has the reasons.
absl::Status SaveStrategyWithReasons(const Strategy& strategy, const std::vector<std::string>& reasons,
                                     const std::string& path);

// The same of what a search found, with why it is this one.
absl::Status SaveFoundStrategy(const Strategy& strategy, const std::vector<Finalist>& finalists,
                               const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_STRATEGY_FILE_H_
