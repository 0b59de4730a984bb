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
TippingOptions OptionsOf(const RunSpec& spec, const EpochCurve& curve) {
  TippingOptions options;
  options.speedup = spec.plan().speedup();
  options.batch = spec.plan().device_batch() > 0 ? spec.plan().device_batch() : curve.points.front().batch;
  if (spec.split().has_mp()) options.split = static_cast<int>(spec.split().mp());
  const int64_t covered = std::min<int64_t>(curve.points.back().batch / options.batch, kMostRanks);
  options.most_devices = static_cast<int>(spec.split().has_ranks() ? spec.split().ranks() : covered);
  return options;
}

absl::StatusOr<int> PrintTipping(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  const std::string& path = spec.model().graph();
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

Command TippingCommand() {
  return {"tipping", "find the number of --ranks from which replicas of --mp devices reach an accuracy sooner", "CURVE",
          Runs<RunSpec>(PrintTipping)};
}

}  // namespace partita
