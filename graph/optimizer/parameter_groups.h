// Matches the patterns of an optimizer's parameter groups with a model's tensors.
#ifndef PARTITA_GRAPH_OPTIMIZER_PARAMETER_GROUPS_H_
#define PARTITA_GRAPH_OPTIMIZER_PARAMETER_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/optimizer/optimizer.h"

namespace partita {

// An attribute of any group: its parameters' gradients are multiplied by it before they are clipped.
inline constexpr char kGradientScale[] = "gradient_scale";

// That of a group of a complete optimizer; 1: it says nothing.
double GradientScale(const ParameterGroup& group);

// The group of each parameter, an index into Optimizer::groups; -1: of none. kInvalidArgument: a group whose pattern
// matches no name ("did you mean"), or patterns that take too long to compare.
absl::StatusOr<std::vector<int>> GroupsOf(const Optimizer& optimizer, const std::vector<std::string>& parameters);

// Whether each name matches one of the patterns. The same errors.
absl::StatusOr<std::vector<bool>> MatchingNames(const std::vector<std::string>& patterns,
                                                const std::vector<std::string>& names);

// Whether each tensor has a moving average. `names`: of parameters and running statistics. The same errors.
absl::StatusOr<std::vector<bool>> Averaged(const Optimizer& optimizer, const std::vector<std::string>& names);

}  // namespace partita

#endif  // PARTITA_GRAPH_OPTIMIZER_PARAMETER_GROUPS_H_
