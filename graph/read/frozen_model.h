// A model of which training leaves some tensors as they are, as when only a new head is trained.
#ifndef PARTITA_GRAPH_READ_FROZEN_MODEL_H_
#define PARTITA_GRAPH_READ_FROZEN_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

struct Freezing {
  std::vector<std::string> parameters;  // patterns of their names
  bool statistics = false;              // batch norms use their running statistics, which stay as they are
};

// Parameters that match become states under their names: they have no gradient, no slots and no update, and the
// backward pass ends where only they lie before. Groups of the optimizer that speak of them alone are dropped.
// kInvalidArgument: a pattern that matches no parameter ("did you mean"), or all match.
absl::StatusOr<Model> Frozen(const Model& model, const Freezing& freezing, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_FROZEN_MODEL_H_
