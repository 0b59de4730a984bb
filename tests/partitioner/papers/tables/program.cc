// Prints what the papers' formulas give, for the networks that they speak of, and the trade-off of a curve.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/tables/tables.h"
#include "tests/partitioner/papers/tables/tables.pb.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"

namespace partita {
namespace {

// kInvalidArgument: a size is given that the table lacks.
absl::StatusOr<TableSizes> SizesFor(const PaperTable& table, bool among_all, const TablesSpec& spec) {
  std::string takes;
  if (table.takes_ranks) takes = " --ranks";
  if (table.takes_batch) takes += takes.empty() ? " --batch" : " and --batch";
  struct Size {
    const char* flag;
    bool given, taken;
  };
  for (const auto& [flag, given, taken] :
       {Size{"ranks", spec.has_ranks(), table.takes_ranks}, Size{"batch", spec.batch() > 0, table.takes_batch}}) {
    if (!given) continue;
    if (among_all) return FlagError("flag --{} is given with 'all'; expected one table", flag);
    if (!taken) {
      return FlagError("flag --{} is given; table '{}' takes{}", flag, table.name, takes.empty() ? " no size" : takes);
    }
  }
  TableSizes sizes;
  if (spec.has_ranks()) sizes.ranks = static_cast<int>(spec.ranks());
  sizes.batch = spec.batch();
  return sizes;
}

absl::StatusOr<int> PrintTable(const ContextOf<TablesSpec>& context) {
  const std::string& name = context.spec.argument();
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

// Two devices a replica and all batches of the curve, unless flags say otherwise.
TippingOptions OptionsOf(const TablesSpec& spec, const EpochCurve& curve) {
  TippingOptions options;
  options.speedup = spec.speedup();
  options.batch = spec.batch() > 0 ? spec.batch() : curve.points.front().batch;
  options.split = static_cast<int>(spec.mp());
  const int64_t covered = std::min<int64_t>(curve.points.back().batch / options.batch, kMostRanks);
  options.most_devices = static_cast<int>(spec.has_ranks() ? spec.ranks() : covered);
  return options;
}

absl::StatusOr<int> PrintTipping(const ContextOf<TablesSpec>& context) {
  const TablesSpec& spec = context.spec;
  const std::string& path = spec.argument();
  ASSIGN_OR_RETURN(const EpochCurve curve, LoadEpochCurve(path));
  const TippingOptions options = OptionsOf(spec, curve);
  if (options.split < 2 || options.most_devices < options.split) {
    return FlagError("flags --mp={} and --ranks={}: 2 or more devices a replica, and room for one, are needed",
                     options.split, options.most_devices);
  }
  absl::StatusOr<std::string> text = FormatTipping(curve, options);
  if (!text.ok()) return WithContext(path, text.status());
  context.out << *text;
  return kExitFinished;
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  const ProgramDefinition tables = {
      .name = "tables",
      .summary = "print the papers' tables",
      .message = TablesSpec::default_instance(),
      .commands = {
          {"print",
           "print a table of a paper's formulas, for the paper's sizes or --ranks and --batch: grid, halo, "
           "groups, nccl, layerwise, tipping, strategies, measured, placement or all",
           "TABLE", Runs<TablesSpec>(PrintTable)},
          {"tipping", "find the number of --ranks from which replicas of --mp devices reach an accuracy sooner",
           "CURVE", Runs<TablesSpec>(PrintTipping)}}};
  return RunMain(tables, argc, argv);
}
