// `trainer tipping`: from how many devices on they are better spent on larger replicas than on more of them.
#include <algorithm>

#include "graph/value/limits.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "runtime/base/status.h"
#include "tools/commands/commands.h"
#include "tools/commands/tables/tables.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// Two devices a replica and all batches of the curve, unless flags say otherwise.
TippingOptions OptionsOf(const Flags& flags, const EpochCurve& curve) {
  TippingOptions options;
  options.speedup = flags.Float("speedup");
  options.batch = flags.Int("device-batch") > 0 ? flags.Int("device-batch") : curve.points.front().batch;
  if (flags.Given("mp")) options.split = static_cast<int>(flags.Int("mp"));
  const int64_t covered = std::min<int64_t>(curve.points.back().batch / options.batch, kMostRanks);
  options.most_devices = static_cast<int>(flags.Given("ranks") ? flags.Int("ranks") : covered);
  return options;
}

absl::StatusOr<int> PrintTipping(const CommandContext& context) {
  const Flags& flags = context.flags;
  const std::string& path = flags.arguments()[0];
  ASSIGN_OR_RETURN(const EpochCurve curve, LoadEpochCurve(path));
  const TippingOptions options = OptionsOf(flags, curve);
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

Command TippingCommand() {
  return {"tipping",
          "find the number of --ranks from which replicas of --mp devices reach an accuracy sooner",
          "CURVE",
          {"mp", "ranks", "speedup", "device-batch"},
          PrintTipping};
}

}  // namespace partita
