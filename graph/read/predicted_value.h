// What a trained graph predicts, unless its user says otherwise.
#ifndef PARTITA_GRAPH_READ_PREDICTED_VALUE_H_
#define PARTITA_GRAPH_READ_PREDICTED_VALUE_H_

#include "graph/ir/graph.h"

namespace partita {

// The first input of the loss, as the logits of a cross entropy, where labels reach the loss by another input. Where
// the loss is made of several nodes, the first value through which all parameters reach it. kNoValue: there is none.
ValueId PredictedValueOf(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_PREDICTED_VALUE_H_
