// Derives a model's evaluation from its batches, as the trainer does.
#ifndef PARTITA_TESTS_RUNTIME_TRAIN_SET_RESULTS_OF_H_
#define PARTITA_TESTS_RUNTIME_TRAIN_SET_RESULTS_OF_H_

#include "graph/sets/find_set_results.h"
#include "ops/registry.h"
#include "ops/values/number_op.h"

namespace partita {

inline SetResults SetResultsOf(const Model& model) { return FindSetResults(model, Ops(), IsOnNumbers).value(); }

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_TRAIN_SET_RESULTS_OF_H_
