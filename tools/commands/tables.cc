// `trainer tables`: what the papers' formulas give, for the networks that they speak of.
#include "tools/commands/tables/tables.h"

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> PrintTable(const CommandContext& context) {
  const std::string& name = context.flags.arguments()[0];
  std::vector<std::string> names = {"all"};
  std::string text;
  for (const PaperTable& table : Tables()) {
    names.push_back(table.name);
    if (name != table.name && name != "all") continue;
    ASSIGN_OR_RETURN(const std::string rows, table.print());
    text += fmt::format("{}{}: {}\n{}", text.empty() ? "" : "\n", table.name, table.summary, rows);
  }
  if (text.empty()) return FlagError("there is no table {}{}", Quoted(name), Suggestion(name, names));
  context.out << text;
  return kExitFinished;
}

}  // namespace

Command TablesCommand() {
  return {"tables",
          "what the papers' formulas give: grid, halo, groups, nccl, layerwise, tipping, strategies, measured, "
          "placement or all",
          "TABLE",
          {},
          PrintTable};
}

}  // namespace partita
