#include "tools/commands/output/repeated_report.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <string>

#include "run/plan/graph_hash.h"
#include "run/plan/inputs.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"
#include "tools/program/config_file.h"
#include "tools/program/flags.h"

namespace partita {

absl::Status WarnOfAnotherGraph(const RunSpec& spec, const Session& session) {
  const std::string& path = spec.general().config();
  if (session.local_ranks().front() != 0 || !HasEnding(path, ".json")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, SystemFlagEnvironment("").read(path));
  ASSIGN_OR_RETURN(const Config report, ParseJsonConfig(text));
  if (report.graph_hash.empty()) return absl::OkStatus();
  RunSpec reported;
  reported.mutable_model()->set_graph(spec.model().graph());
  for (const ConfigEntry& entry : report.entries) {
    if (entry.key == "batch") reported.mutable_model()->set_batch(std::strtoll(entry.value.c_str(), nullptr, 10));
    if (entry.key == "learning-rate")
      reported.mutable_model()->set_learning_rate(std::strtod(entry.value.c_str(), nullptr));
  }
  ASSIGN_OR_RETURN(const Model model, ReadModel(reported));
  const std::string hash = GraphHash(model);
  if (hash != report.graph_hash) {
    spdlog::warn("{}: the run had another graph: key 'graph_hash' is {}, {} has {}", path, report.graph_hash,
                 spec.model().graph(), hash);
  }
  return absl::OkStatus();
}

}  // namespace partita
