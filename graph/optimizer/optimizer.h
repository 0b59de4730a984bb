// Optimizers: what a model says of its own, and what one is: what it may be told, and by which op it updates a
// parameter. The definitions are a list (ops/functors/updates.h), which the registry carries.
#ifndef PARTITA_GRAPH_OPTIMIZER_OPTIMIZER_H_
#define PARTITA_GRAPH_OPTIMIZER_OPTIMIZER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/attribute_definition.h"
#include "graph/value/attributes.h"

namespace partita {

// One of the list, and what it is told.
struct Optimizer {
  std::string name = "";  // the first one, stochastic gradient descent
  Attributes attributes;  // those that are not given have the optimizer's defaults
  double clip_norm = 0;   // largest global norm of the gradient; 0: no clipping
};

// A state that lies beside each parameter, in its form: "<parameter>@<name>".
struct Slot {
  std::string name;
  double initial = 0;
};

// How one parameter w with gradient g is updated:
//   w', slots'... = op(w, g, slots..., scalars...)
// The scalars are those that the op declares behind its slots, by their names: `rate`, `apply` (0: all stay as they
// are), `clip` (1 if absent: what the gradient is multiplied by) and `iteration`.
struct UpdateRule {
  std::string op;
  Attributes attributes;
  std::vector<Slot> slots;
};

struct OptimizerDefinition {
  std::string name;
  std::vector<AttributeDefinition> attributes;
  // Of complete attributes. `check` refuses values with the field's name: "optimizer.momentum".
  std::function<absl::Status(const Attributes&)> check;
  std::function<UpdateRule(const Attributes&)> rule;
};

using Optimizers = std::vector<OptimizerDefinition>;

// "": the first one. nullptr if unknown.
const OptimizerDefinition* FindOptimizer(const std::string& name, const Optimizers& optimizers);

// With all attributes; the name stays as it was given. kInvalidArgument: an unknown name or attribute ("did you
// mean"), a value out of range; it names the field.
absl::StatusOr<Optimizer> CompleteOptimizer(const Optimizer& optimizer, const Optimizers& optimizers);

}  // namespace partita

#endif  // PARTITA_GRAPH_OPTIMIZER_OPTIMIZER_H_
