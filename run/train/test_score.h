// The one number by which evaluations of the test set are compared.
#ifndef PARTITA_RUN_TRAIN_TEST_SCORE_H_
#define PARTITA_RUN_TRAIN_TEST_SCORE_H_

#include "graph/ir/graph.h"
#include "runtime/train/metrics.h"
#include "runtime/train/model_record.h"

namespace partita {

// The first of the graph's accuracies, else the loss.
BestScore ScoreOf(const Graph& forward, double test_loss, const Metrics& test_metrics);

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_TEST_SCORE_H_
