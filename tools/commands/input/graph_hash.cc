#include "tools/commands/input/graph_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdlib>

#include "graph/proto_io/proto_io.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"
#include "tools/commands/input/inputs.h"
#include "tools/program/config_file.h"
#include "tools/program/flags.h"

namespace partita {

std::string GraphHash(const Model& model) {
  const std::string bytes = PrintModel(model, ProtoFormat::kBinary);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

absl::StatusOr<std::string> ChangeOfReportedGraph(const RunSpec& spec) {
  const std::string& path = spec.general().config();
  if (!HasEnding(path, ".json")) return "";
  ASSIGN_OR_RETURN(const std::string text, SystemFlagEnvironment("").read(path));
  ASSIGN_OR_RETURN(const Config report, ParseJsonConfig(text));
  if (report.graph_hash.empty()) return "";
  RunSpec reported;
  reported.mutable_model()->set_graph(spec.model().graph());
  for (const ConfigEntry& entry : report.entries) {
    if (entry.key == "batch") reported.mutable_model()->set_batch(std::strtoll(entry.value.c_str(), nullptr, 10));
    if (entry.key == "learning-rate")
      reported.mutable_model()->set_learning_rate(std::strtod(entry.value.c_str(), nullptr));
  }
  const absl::StatusOr<Model> model = ReadModel(reported);
  const std::string hash = model.ok() ? GraphHash(*model) : "none with the report's flags";
  if (hash == report.graph_hash) return "";
  return fmt::format("{}: the run had another graph: key 'graph_hash' is {}, {} has {}", path, report.graph_hash,
                     spec.model().graph(), hash);
}

}  // namespace partita
