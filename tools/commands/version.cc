// `trainer version`: the program's version and those of its libraries.
#include "tools/program/version/version.h"

#include <nlohmann/json.hpp>

#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> Version(const CommandContext& context) {
  const std::string& format = context.flags.Text("format");
  if (format == "json") {
    const nlohmann::json json = {
        {"schema_version", 1}, {"tool_version", kToolVersion}, {"libraries", LibraryVersions()}};
    context.out << json.dump(2) << "\n";
    return kExitFinished;
  }
  context.out << fmt::format("{:<10} {}\n", "partita", kToolVersion);
  for (const auto& [name, version] : LibraryVersions()) context.out << fmt::format("{:<10} {}\n", name, version);
  return kExitFinished;
}

}  // namespace

Command VersionCommand() {
  Command command{"version", "the versions of program and libraries", "", {"format"}, Version};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
