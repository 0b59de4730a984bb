// Optimizers: the settings in a model, and the definition of an optimizer: its attributes and the op that updates a
// parameter. The registry holds the list of definitions (ops/functors/updates/updates.h).
#ifndef PARTITA_GRAPH_OPTIMIZER_OPTIMIZER_H_
#define PARTITA_GRAPH_OPTIMIZER_OPTIMIZER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/attribute_definition.h"
#include "graph/value/attributes.h"

namespace partita {

// What is said otherwise for the parameters whose names match.
struct ParameterGroup {
  std::string pattern;
  double rate = 1;                       // factor of the learning rate
  Attributes attributes = {};            // instead of the optimizer's
  std::optional<double> clip_norm = {};  // largest norm of the gradients of these alone; nothing: as all others
};

// A moving average beside parameters and running statistics, which evaluation and prediction read in their place.
struct MovingAverage {
  double decay = 0;
  std::string pattern = "*";  // of their names
  bool warmup = false;        // in step t = 1, 2, ... at most (1 + t) / (10 + t)
};

// An optimizer of the list and its attributes.
struct Optimizer {
  std::string name = "";  // the first one, stochastic gradient descent
  Attributes attributes;  // those that are not given have the optimizer's defaults
  // Largest global norm of the gradients of all parameters but those of a group with a norm of its own; 0: no clipping.
  double clip_norm = 0;
  std::vector<ParameterGroup> groups = {};  // the first one that matches decides
  std::optional<MovingAverage> average = {};
};

// A state that lies beside each parameter, in its form: "<parameter>@<name>".
struct Slot {
  std::string name;
  double initial = 0;
};

// An op over one parameter w and its gradient g:
//   w', slots'... = op(w, g, slots..., scalars...)
// The scalars are those that the op declares behind its slots, by their names: `rate`, `apply` (0: all stay as they
// are), `clip` (1 if absent: what the gradient is multiplied by), `iteration`, and `w_squares` and `g_squares`, the
// sums of squares of the whole w and g.
struct UpdatePhase {
  std::string op;
  Attributes attributes;
  std::vector<Slot> slots;
};

// How a parameter is updated.
struct UpdateRule : UpdatePhase {
  // The phase before: its first output, a direction, takes the place of g, and of w only its slots change.
  std::optional<UpdatePhase> direction = {};
  // The op that updates a few rows of a table: w', slots'... = op_of_rows(w, ids, rows, slots..., scalars...). Empty:
  // none.
  std::string op_of_rows = {};
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

// With all attributes, those of groups in their types; the name stays as it was given. kInvalidArgument: an unknown
// name or attribute ("did you mean"), a value out of range; it names the field.
absl::StatusOr<Optimizer> CompleteOptimizer(const Optimizer& optimizer, const Optimizers& optimizers);

// What a group's parameters are updated by: `all`, the optimizer's attributes, but those that the group says.
Attributes GroupAttributes(const Attributes& all, const ParameterGroup& group);

}  // namespace partita

#endif  // PARTITA_GRAPH_OPTIMIZER_OPTIMIZER_H_
