#include "tools/program/unknown_variables.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/value/node_name.h"
#include "run/spec/flag.h"

namespace partita {

std::vector<std::string> UnknownVariables(const std::vector<FlagDefinition>& all, const FlagEnvironment& environment) {
  const std::string prefix = FlagVariable(environment.program, "");
  std::vector<std::string> known;  // without the prefix, which all share and which would make all of them near
  for (const FlagDefinition& flag : all) {
    known.push_back(FlagVariable(environment.program, flag.name).substr(prefix.size()));
  }
  std::vector<std::string> warnings;
  for (const std::string& name : environment.names) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string flag = name.substr(prefix.size());
    if (std::ranges::find(known, flag) != known.end()) continue;
    const auto meant = NearestName(flag, known);
    warnings.push_back(fmt::format("environment variable {} is no flag and changes nothing{}", Quoted(name),
                                   meant ? fmt::format("; did you mean {}?", Quoted(prefix + *meant)) : ""));
  }
  std::ranges::sort(warnings);
  return warnings;
}

}  // namespace partita
