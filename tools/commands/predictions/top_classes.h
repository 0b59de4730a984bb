// The most probable classes of samples.
#ifndef PARTITA_TOOLS_COMMANDS_PREDICTIONS_TOP_CLASSES_H_
#define PARTITA_TOOLS_COMMANDS_PREDICTIONS_TOP_CLASSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/rank/gather.h"
#include "tools/commands/predictions/prediction_file.h"

namespace partita {

struct ClassProbability {
  int64_t label = 0;
  double probability = 0;
};

// Of each row of `values` [samples, classes] the `count` most probable classes, or all if there are fewer; of equal
// ones the lower label comes first. `logits`: probabilities are their softmax; else the values are probabilities.
// kInvalidArgument: another shape or element type. kOutOfRange: a row has no probabilities, as one with a NaN.
absl::StatusOr<std::vector<std::vector<ClassProbability>>> TopClasses(const HostTensor& values, const std::string& name,
                                                                      bool logits, int64_t count);

// The class's name, or its label where it has none.
std::string ClassName(int64_t label, const std::vector<std::string>& class_names);

// A line for each sample: `sample,class_1,probability_1,...`, or an object. Samples without names are numbered from 0.
std::string PrintTopClasses(const std::vector<std::vector<ClassProbability>>& rows,
                            const std::vector<std::string>& samples, const std::vector<std::string>& class_names,
                            PredictionFormat format);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PREDICTIONS_TOP_CLASSES_H_
