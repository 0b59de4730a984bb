// Learning rates and weight decay of parameters by flags: --rate-scale and --no-decay as groups of the optimizer.
#ifndef PARTITA_RUN_TUNING_PARAMETER_GROUPS_H_
#define PARTITA_RUN_TUNING_PARAMETER_GROUPS_H_

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"

namespace partita {

// Adds groups to the model's optimizer. A parameter that several flags, or a group of the optimizer, speak of gets a
// group of its own with all of it: factors are multiplied. FlagError: a pattern that matches no parameter, a factor
// that is none, or a parameter of a group with a clip_norm of its own.
absl::Status AddParameterGroups(const RunSpec& spec, Model& model);

}  // namespace partita

#endif  // PARTITA_RUN_TUNING_PARAMETER_GROUPS_H_
