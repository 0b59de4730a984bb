#include "run/plan_report/gather_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/registry.h"
#include "partitioner/explain/avoidable_gather.h"
#include "run/plan/machine.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/predicted_plan.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// As a strategy file has it.
std::string EntryText(const OpConfig& entry) {
  std::string axes;
  for (const auto& [axis, config] : entry.axes) {
    axes += fmt::format(" axes {{ axis: \"{}\" split: \"{}\" }}", axis, config.split);
  }
  return fmt::format("ops {{ pattern: \"{}\"{} }}", entry.pattern, axes);
}

PlanGatherProto GatherToProto(const AvoidableGather& gather) {
  PlanGatherProto proto;
  proto.set_value(gather.value);
  for (const std::string& reader : gather.readers) proto.add_readers(reader);
  proto.set_wire_bytes(gather.wire_bytes);
  proto.set_saved_bytes(gather.saved_bytes);
  for (const OpConfig& entry : gather.entries) proto.add_entries(EntryText(entry));
  return proto;
}

}  // namespace

absl::Status AddGather(const RunSpec& spec, const RunPlan& planned, const Program& program, PlanProto& plan) {
  const Graph& graph = planned.model.graph;
  double step = 0;
  for (const PlanRankProto& rank : plan.ranks()) step = std::max(step, rank.time().step_seconds());
  const auto compile = [&](const Strategy& other) -> absl::StatusOr<Program> {
    if (!planned.machine) {
      RunPlan changed = planned;
      changed.chosen.strategy = other;
      ASSIGN_OR_RETURN(changed.speed, SpeedFor(spec, changed.machine, other.mesh.size()));
      return ProgramOf(spec, changed, {.given = AssumedForms(graph)});
    }
    ASSIGN_OR_RETURN(PredictedPlan predicted, PredictedPlanOf(spec, planned.model, *planned.machine, other));
    RETURN_IF_ERROR(predicted.fits);
    if (predicted.step.seconds() >= step) return absl::OutOfRangeError("its step is not shorter");
    return std::move(predicted.program);
  };
  ASSIGN_OR_RETURN(const std::optional<AvoidableGather> gather,
                   FindAvoidableGather(graph, planned.chosen.strategy, program, Ops(), compile));
  if (gather) *plan.mutable_avoidable_gather() = GatherToProto(*gather);
  return absl::OkStatus();
}

}  // namespace partita
