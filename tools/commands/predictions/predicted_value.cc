#include "tools/commands/predictions/predicted_value.h"

#include "graph/read/predicted_value.h"
#include "run/spec/spec_error.h"

namespace partita {

absl::StatusOr<std::string> PredictedValue(const RunSpec& spec, const Graph& graph) {
  if (spec.predict().has_value()) return spec.predict().value();
  const ValueId value = PredictedValueOf(graph);
  if (value != kNoValue) return graph.value(value).name;
  return FlagError("flag --value is missing: the loss of {} is made of several values; show lists their names",
                   spec.model().graph());
}

}  // namespace partita
