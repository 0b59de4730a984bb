// Chooses the layout of an op over each mesh axis (docs/derivation.md 1).
#ifndef PARTITA_GRAPH_DERIVE_CHOOSE_LAYOUT_H_
#define PARTITA_GRAPH_DERIVE_CHOOSE_LAYOUT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/op_definition.h"

namespace partita {

// What is known of an input before its layout is chosen.
struct InputState {
  const TensorType* type = nullptr;  // nullptr: absent optional input
  const Layout* layout = nullptr;    // nullptr: free (a parameter without a layout yet, or on another mesh)
  bool leads = false;                // an activation: the first of these leads the choice
};

struct NodeLayouts {
  std::vector<Layout> inputs;  // what each input must be brought to (absent inputs: empty)
  std::vector<Layout> outputs;
};

struct LayoutRequest {
  const OpDefinition* op = nullptr;
  NodeView view;  // with outputs inferred
  std::vector<InputState> inputs;
  std::vector<std::optional<AxisConfig>> configs;  // per mesh axis: what the strategy says; empty: nothing for any axis
  bool keep_lead = true;       // forward nodes keep the lead's layout where legal, even if it costs more
  const Mesh* mesh = nullptr;  // that the op lies on
};

// Per axis, in this order: the strategy's word; else, among the op's rules (in their order), all R and all At(c), those
// that keep the lead's layout; among these the one whose inputs move the fewest wire bytes. A P input that the rule
// does not take is counted as resolved to R. Errors: the strategy names a split that the op does not have, or cuts that
// it cannot have.
absl::StatusOr<NodeLayouts> ChooseLayouts(const LayoutRequest& request);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_CHOOSE_LAYOUT_H_
