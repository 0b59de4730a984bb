#include "partitioner/explain/kind_seconds.h"

#include <algorithm>
#include <variant>

#include "graph/ir/op_definition.h"
#include "partitioner/explain/step_moves.h"

namespace partita {
namespace {

// Empty: of none.
std::string KindOf(const Launch& launch, const Program& program) {
  if (const auto* const kernel = std::get_if<KernelLaunch>(&launch.work)) return "op " + kernel->node.op->name;
  if (const auto* const call = std::get_if<CollectiveLaunch>(&launch.work)) {
    return "group " + AlongOf(program.groups[call->group].key, program.meshes);
  }
  return std::holds_alternative<CopyLaunch>(launch.work) ? "copies" : "";
}

}  // namespace

KindSeconds KindSecondsOf(std::span<const LaunchSpan> spans, const Program& program) {
  KindSeconds seconds;
  for (const LaunchSpan& span : spans) {
    const std::string kind = KindOf(*span.launch, program);
    if (!kind.empty()) seconds[kind] += span.end - span.begin;
  }
  return seconds;
}

void RaiseTo(const KindSeconds& other, KindSeconds& most) {
  for (const auto& [kind, seconds] : other) most[kind] = std::max(most[kind], seconds);
}

}  // namespace partita
