// `trainer version`: the program's version, those of its libraries, and the machine.
#include "tools/program/version/version.h"

#include <nlohmann/json.hpp>

#include "runtime/fail_points/fail_point.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"
#include "tools/program/version/host.h"
#include "tools/program/version/revision.h"

namespace partita {
namespace {

absl::StatusOr<int> Version(const CommandContext& context) {
  if (context.flags.Bool("fail-points")) {
    for (const auto& [point, name, where] : FailPoints()) context.out << fmt::format("{:<22} {}\n", name, where);
    return kExitFinished;
  }
  const Host host = ThisHost();
  if (context.flags.Text("format") == "json") {
    const nlohmann::json json = {
        {"schema_version", 1},
        {"tool_version", kToolVersion},
        {"revision", std::string(kRevision)},
        {"host", {{"name", host.name}, {"system", host.system}, {"processor", host.processor}, {"cores", host.cores}}},
        {"time", TimeNow()},
        {"libraries", LibraryVersions()}};
    context.out << json.dump(2) << "\n";
    return kExitFinished;
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"partita", kToolVersion},
      {"revision", std::string(kRevision)},
      {"host", host.name},
      {"system", host.system},
      {"processor", fmt::format("{} ({} cores)", host.processor, host.cores)},
      {"time", TimeNow()}};
  for (const auto& library : LibraryVersions()) lines.push_back(library);
  for (const auto& [name, value] : lines) context.out << fmt::format("{:<13} {}\n", name, value);
  return kExitFinished;
}

}  // namespace

Command VersionCommand() {
  Command command{
      "version", "of the program and its libraries, and the machine", "", {"format", "fail-points"}, Version};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
