#include "ops/registry.h"

#include "graph/moves/move_ops.h"
#include "ops/definitions/definitions.h"
#include "ops/definitions/rows/row_definitions.h"
#include "ops/definitions/sequences/sequences.h"
#include "ops/fusions/fusions.h"

namespace partita {
namespace {

std::vector<OpDefinition> AllDefinitions() {
  std::vector<OpDefinition> definitions = {
#define OP(name) name(),
#include "ops/definitions/definitions.inc"
#include "ops/definitions/rows/row_definitions.inc"
#include "ops/definitions/sequences/sequences.inc"
#undef OP
  };
  for (const auto& family : {ElementwiseOps(), UpdateOps(), RowUpdateOps(), MoveDefinitions()}) {
    definitions.insert(definitions.end(), family.begin(), family.end());
  }
  return definitions;
}

}  // namespace

const OpRegistry& Ops() {
  static const auto& registry = *new OpRegistry(AllDefinitions(), AllFusions(), AllOptimizers());
  return registry;
}

}  // namespace partita
