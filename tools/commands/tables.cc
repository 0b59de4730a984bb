// `trainer tables`: what the papers' formulas give, for the networks that they speak of.
#include "tools/commands/tables/tables.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// kInvalidArgument: a size is given that the table lacks.
absl::StatusOr<TableSizes> SizesFor(const PaperTable& table, bool among_all, const RunSpec& spec) {
  std::string takes;
  if (table.takes_ranks) takes = " --ranks";
  if (table.takes_batch) takes += takes.empty() ? " --batch" : " and --batch";
  struct Size {
    const char* flag;
    bool given, taken;
  };
  for (const auto& [flag, given, taken] : {Size{"ranks", spec.split().has_ranks(), table.takes_ranks},
                                           Size{"batch", spec.model().batch() > 0, table.takes_batch}}) {
    if (!given) continue;
    if (among_all) return FlagError("flag --{} is given with 'all'; expected one table", flag);
    if (!taken) {
      return FlagError("flag --{} is given; table '{}' takes{}", flag, table.name, takes.empty() ? " no size" : takes);
    }
  }
  TableSizes sizes;
  if (spec.split().has_ranks()) sizes.ranks = static_cast<int>(spec.split().ranks());
  sizes.batch = spec.model().batch();
  return sizes;
}

absl::StatusOr<int> PrintTable(const ContextOf<RunSpec>& context) {
  const std::string& name = context.spec.model().graph();
  std::vector<std::string> names = {"all"};
  std::string text;
  for (const PaperTable& table : Tables()) {
    names.push_back(table.name);
    if (name != table.name && name != "all") continue;
    ASSIGN_OR_RETURN(const TableSizes sizes, SizesFor(table, name == "all", context.spec));
    ASSIGN_OR_RETURN(const std::string rows, table.print(sizes));
    text += fmt::format("{}{}: {}\n{}", text.empty() ? "" : "\n", table.name, table.summary, rows);
  }
  if (text.empty()) return FlagError("there is no table {}{}", Quoted(name), Suggestion(name, names));
  context.out << text;
  return kExitFinished;
}

}  // namespace

Command TablesCommand() {
  return {"tables",
          "print tables of the papers' formulas, for the papers' sizes or --ranks and --batch: grid, halo, groups, "
          "nccl, layerwise, tipping, strategies, measured, placement or all",
          "TABLE", Runs<RunSpec>(PrintTable)};
}

}  // namespace partita
