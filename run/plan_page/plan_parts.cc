#include "run/plan_page/plan_parts.h"

#include <algorithm>

#include "runtime/base/number.h"
#include "runtime/telemetry/progress.h"

namespace partita {

std::string FormatTable(const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += c < left ? fmt::format("  {:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string FormatMesh(const PlanProto& plan) {
  std::string text;
  for (const PlanAxisProto& axis : plan.mesh()) text += fmt::format(" {}:{}", axis.name(), axis.size());
  if (text.empty()) text = " one rank";
  for (const PlanMeshProto& mesh : plan.further_meshes()) {
    text += fmt::format("\nmesh {}", mesh.name());
    for (const PlanAxisProto& axis : mesh.axes()) text += fmt::format(" {}:{}", axis.name(), axis.size());
    text += fmt::format(" {{{}}}", fmt::join(mesh.ranks(), ","));
  }
  return text;
}

std::string FormatBackend(const PlanProto& plan) {
  const PlanBackendProto& backend = plan.backend();
  const bool host = backend.device() == "host";
  const bool cluster = !plan.cluster().empty();
  std::string text = "for " + (cluster ? plan.cluster() : host ? "the host" : backend.device());
  if (cluster) text += host ? " with the host's kernels" : " with kernels of " + backend.device();
  text += backend.processes() ? ": ranks are processes" : ": ranks are threads of one process";
  if (host) {
    text += fmt::format(", {} {}", Counted(backend.threads_per_rank(), "thread"),
                        cluster ? "each" : "for the kernels of each");
  }
  if (!host && backend.missing().empty()) text += "; asked for its kernels";
  if (!backend.missing().empty()) {
    text += fmt::format("; by its description, there is none here: {}", backend.missing());
  }
  return text + "\n";
}

std::string BlockOf(const std::string& name) {
  const size_t slash = name.find('/');
  return slash != std::string::npos ? name.substr(0, slash) : name.substr(0, name.find_first_of("_0123456789"));
}

std::vector<std::string> FormatGather(const PlanProto& plan) {
  if (!plan.has_avoidable_gather()) return {};
  const PlanGatherProto& gather = plan.avoidable_gather();
  std::vector<std::string> lines = {
      fmt::format("{} of '{}' for '{}'; {} less moves if the strategy begins with", FormatBytes(gather.wire_bytes()),
                  gather.value(), fmt::join(gather.readers(), "' and '"), FormatBytes(gather.saved_bytes()))};
  lines.insert(lines.end(), gather.entries().begin(), gather.entries().end());
  return lines;
}

}  // namespace partita
