// Checks of a forward graph as a whole, and of how it is trained. What one node alone can get wrong is refused when it
// is added (graph/read/graph_assembler.h).
#ifndef PARTITA_GRAPH_READ_VERIFY_MODEL_H_
#define PARTITA_GRAPH_READ_VERIFY_MODEL_H_

#include "absl/status/status.h"
#include "graph/ir/model.h"

namespace partita {

// A graph that can be trained:
//   - each input has a field of its own
//   - the loss is a computed scalar of a floating type, the metrics are scalars, each named once
//   - every parameter reaches the loss on a way along which gradients flow
//   - what a node updates (running statistics) are states, each updated by one node
// kInvalidArgument names the node. Linear; no recursion.
absl::Status VerifyForward(const Graph& graph);

// Ranges of the optimizer's and the schedule's numbers; names the field.
absl::Status VerifyOptimizer(const Optimizer& optimizer);
absl::Status VerifyLearningRate(const LearningRate& rate);

// All of it.
absl::Status VerifyModel(const Model& model);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_VERIFY_MODEL_H_
