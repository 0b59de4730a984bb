// `trainer version`: the program's version, those of its libraries, and the machine.
#include "run/host/version.h"

#include <nlohmann/json.hpp>

#include "run/host/host.h"
#include "run/host/revision.h"
#include "runtime/base/number.h"
#include "runtime/fail_points/fail_point.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"
#include "tools/program/start/clean_start.h"

namespace partita {
namespace {

// "2 cores", or "1 core allowed of 2".
std::string Cores(const Host& host) {
  const std::string cores = Counted(host.cores, "core");
  return host.cores == host.online ? cores : fmt::format("{} allowed of {}", cores, host.online);
}

nlohmann::json Variables() {
  nlohmann::json all = nlohmann::json::array();
  for (const FoundVariable& found : VariablesOfLibraries()) {
    all.push_back({{"name", found.name},
                   {"library", found.about->library},
                   {"handling", Name(found.about->handling)},
                   {"text", found.ToString()}});
  }
  return all;
}

absl::StatusOr<int> Version(const ContextOf<RunSpec>& context) {
  if (context.spec.debug().fail_points()) {
    for (const auto& [point, name, where] : FailPoints()) context.out << fmt::format("{:<22} {}\n", name, where);
    return kExitFinished;
  }
  const Host host = ThisHost();
  if (context.spec.output().format() == "json") {
    const nlohmann::json json = {{"schema_version", 1},
                                 {"tool_version", kToolVersion},
                                 {"revision", std::string(kRevision)},
                                 {"host",
                                  {{"name", host.name},
                                   {"system", host.system},
                                   {"processor", host.processor},
                                   {"cores", host.cores},
                                   {"online_cores", host.online}}},
                                 {"time", TimeNow()},
                                 {"libraries", LibraryVersions()},
                                 {"variables", Variables()}};
    context.out << json.dump(2) << "\n";
    return kExitFinished;
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"partita", kToolVersion},
      {"revision", std::string(kRevision)},
      {"host", host.name},
      {"system", host.system},
      {"processor", fmt::format("{} ({})", host.processor, Cores(host))},
      {"time", TimeNow()}};
  for (const auto& library : LibraryVersions()) lines.push_back(library);
  for (const FoundVariable& found : VariablesOfLibraries()) lines.push_back({"variable", found.ToString()});
  for (const auto& [name, value] : lines) context.out << fmt::format("{:<13} {}\n", name, value);
  return kExitFinished;
}

}  // namespace

Command VersionCommand() {
  Command command{"version", "print versions of the program and its libraries, and the machine", "",
                  Runs<RunSpec>(Version)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
