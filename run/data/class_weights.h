// Class weights that the training set decides: --class-weights=balanced, and those by the names of classes.
#ifndef PARTITA_RUN_DATA_CLASS_WEIGHTS_H_
#define PARTITA_RUN_DATA_CLASS_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "runtime/train/trainer.h"

namespace partita {

// How many labels are each class.
std::vector<int64_t> CountLabels(std::span<const int32_t> labels, int64_t classes);

// n / (c n_i) for class i with n_i of n labels, where c classes have labels, as scikit-learn has it; 1 for the others.
std::vector<double> BalancedWeights(const std::vector<int64_t>& counts);

// Whether the data must be read with DataRequest::counts_labels.
bool CountsLabels(const RunSpec& spec);

// Sets the weights in a model that has the flag's. FlagError: a name that is no class of the data, data whose classes
// have no names, or whose labels are not counted.
absl::Status WeighByData(const RunSpec& spec, const TrainingData& data, Model& model);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_CLASS_WEIGHTS_H_
