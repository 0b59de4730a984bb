// A graph of one rank, computed node by node in f64 by the host's reference kernels: the witness that shares no kernel,
// no schedule and no memory plan with what is verified (docs/design.md 5.3).
#ifndef PARTITA_RUNTIME_API_F64_GRAPH_H_
#define PARTITA_RUNTIME_API_F64_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/schedule/localize.h"
#include "runtime/api/rank/gather.h"

namespace partita {

// The same tensor with floating elements in f64.
HostTensor InF64(const HostTensor& tensor);
HostTensor InF64(const WholeValue& value);

// Thread-compatible.
class F64Graph {
 public:
  // A copy of a graph of one rank (CHECKed), all of whose floating values become f64; value and node ids stay the same.
  // `seed`: of the run, for dropout and sampling.
  F64Graph(const Graph& graph, uint64_t seed);

  const Graph& graph() const { return graph_; }

  // The outputs of a node that is no source. `inputs`: one for each of the node's, null where that is absent. Errors
  // are those of the kernel.
  absl::StatusOr<std::vector<HostTensor>> Compute(NodeId node, const std::vector<const HostTensor*>& inputs) const;

 private:
  const Graph graph_;
  const LocalGraph local_;
  const uint64_t seed_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_F64_GRAPH_H_
