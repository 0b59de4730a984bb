#include "run/plan_report/strategy_file.h"

#include "graph/proto_io/proto_io.h"
#include "partitioner/choose/ranked_finalists.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {

std::string PrintStrategyWithReasons(const Strategy& strategy, const std::vector<std::string>& reasons) {
  std::string text;
  for (std::string line : reasons) {
    for (char& c : line) c = c == '\n' ? ' ' : c;
    text += "# " + line + "\n";
  }
  return text + PrintStrategy(strategy, ProtoFormat::kText);
}

absl::Status SaveStrategyWithReasons(const Strategy& strategy, const std::vector<std::string>& reasons,
                                     const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFormat format, FormatOf(path));
  if (format != ProtoFormat::kText) return SaveStrategy(strategy, path);
  return WriteFileAtomically(path, PrintStrategyWithReasons(strategy, reasons));
}

absl::Status SaveFoundStrategy(const Strategy& strategy, const std::vector<Finalist>& finalists,
                               const std::string& path) {
  return SaveStrategyWithReasons(strategy, ReasonsFor(finalists), path);
}

}  // namespace partita
