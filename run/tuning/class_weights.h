// What labels of each class count in the loss: --class-weights.
#ifndef PARTITA_RUN_TUNING_CLASS_WEIGHTS_H_
#define PARTITA_RUN_TUNING_CLASS_WEIGHTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"

namespace partita {

// Exactly one of the three.
struct ClassWeights {
  bool balanced = false;
  std::vector<double> numbers;            // of each class
  std::map<std::string, double> by_name;  // other classes weigh 1
};

// Of the flag, which is given. FlagError: words of two kinds, numbers that are no weights.
absl::StatusOr<ClassWeights> ReadClassWeights(const RunSpec& spec);

// The model with a weighed loss; as it is without the flag. Weights that the data decides are 1 until it is read
// (run/data/class_weights.h). FlagError: a loss that they are not for, another number of weights than of classes.
absl::StatusOr<Model> WithClassWeights(const RunSpec& spec, Model model);

}  // namespace partita

#endif  // PARTITA_RUN_TUNING_CLASS_WEIGHTS_H_
