// A run beside its graph in f64, computed by the reference kernels (f64_graph.h).
//
// The reference computes each forward value from the values that the run itself made, and the gradients at those
// values. So it sees the error of each node alone, and both take the same side of every kink (relu, max-pool).
#ifndef PARTITA_RUNTIME_API_REFERENCE_WALK_H_
#define PARTITA_RUNTIME_API_REFERENCE_WALK_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/api/f64_graph.h"

namespace partita {

// A forward value that a run made in a step, by its name in the reference, whole; nullopt: the run has none.
using ObservedRun = std::function<absl::StatusOr<std::optional<WholeValue>>(const std::string& name)>;

struct ReferenceVisitor {
  // A forward value that both have.
  std::function<absl::Status(const std::string& name, const std::vector<double>& reference,
                             const std::vector<double>& run)>
      forward;
  // The gradient of a parameter.
  std::function<absl::Status(const std::string& parameter, const std::vector<double>& reference)> gradient;
};

// `reference`: of the model's training graph, which may be joined to fewer nodes in the run. kInternal: the run lacks
// an input or a state.
absl::Status WalkReference(const F64Graph& reference, const ObservedRun& run, const ReferenceVisitor& visitor);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_REFERENCE_WALK_H_
