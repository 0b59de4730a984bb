// `trainer version`: the program's version and those of its libraries.
#include "tools/program/version.h"

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
  if (format != "text") return FlagError("flag --format is {}; version writes text and json", format);
  context.out << fmt::format("{:<10} {}\n", "partita", kToolVersion);
  for (const auto& [name, version] : LibraryVersions()) context.out << fmt::format("{:<10} {}\n", name, version);
  return kExitFinished;
}

}  // namespace

Command VersionCommand() { return {"version", "the versions of program and libraries", "", {"format"}, Version}; }

}  // namespace partita
