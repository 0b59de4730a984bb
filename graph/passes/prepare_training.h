// Makes the forward graph of training from the user's graph: the step's number is a state of it, and ops that mean
// something else in training say what (OpDefinition::in_training). For instance
//
//   before   %y = batch_norm(%x, %gamma, %beta, %mean, %variance)       %z = dropout(%y) rate=0.2
//   after    %@iteration = state()
//            %y@statistics = batch_norm_statistics(%x, %mean)     # [groups,2,C]; all that crosses samples
//            %y = batch_norm_normalize(%x, %y@statistics, %mean, %gamma, %beta)
//            %y@running_mean, %y@running_variance = batch_norm_running(%y@statistics, %mean, %variance, _)
//            %z = dropout(%y, %@iteration) key=z rate=0.2
//            update %mean = %y@running_mean   update %variance = %y@running_variance
#ifndef PARTITA_GRAPH_PASSES_PREPARE_TRAINING_H_
#define PARTITA_GRAPH_PASSES_PREPARE_TRAINING_H_

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"

namespace partita {

absl::StatusOr<Graph> PrepareTraining(const Graph& forward, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_PREPARE_TRAINING_H_
