// Computes a training step's state updates in f64: the update nodes of the serial graph, by the reference kernels, from
// the values that a run really read.
//
// An optimizer may amplify the rounding of a gradient without bound: where the true gradient is 0 (a key bias of
// attention, a bias in front of batch norm) Adam turns noise into a full step. So an update is not compared with the
// serial run's, but with what the rule makes, element by element, of the gradient that the plan itself computed. That
// gradient is compared on its own.
#ifndef PARTITA_RUNTIME_API_F64_UPDATE_H_
#define PARTITA_RUNTIME_API_F64_UPDATE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/f64_graph.h"

namespace partita {

// A value as a run read it. `uncertain`: by how much each element may differ from what the run really read.
struct ReadValue {
  HostTensor tensor;
  double uncertain = 0;
};

// A state after the step; `allowed`: by how much each element may differ from it for the rounding of the update alone.
struct ExpectedState {
  std::vector<double> elements, allowed;
};

// Of one step of one run. Thread-compatible.
class F64Update {
 public:
  // Values that the rule begins with, by their ids in the serial graph, and the node that reads them: gradients, states
  // before the step, of other states what the step made of them, and values of the forward pass.
  using Reader = std::function<absl::StatusOr<ReadValue>(ValueId value, NodeId reader)>;

  // `f64`: of the serial training graph `serial`. Both must outlive the rule.
  F64Update(const Graph& serial, const F64Graph& f64, Reader read);

  // What the step makes of a state; without an update, what it was.
  absl::StatusOr<ExpectedState> After(const State& state);

 private:
  using Found = std::shared_ptr<const ReadValue>;

  // What one update is computed from: what it reads, what the rule makes on the way (IsOwn), and what that reads.
  using Cone = std::map<ValueId, Found>;
  using Tensors = std::map<ValueId, HostTensor>;

  bool IsRead(ValueId value) const;
  // Whether the rule makes it of this one parameter alone: a direction, and its norm.
  bool IsOwn(ValueId value) const;
  absl::StatusOr<Found> Find(ValueId value, NodeId reader);
  absl::StatusOr<std::vector<Found>> FindInputs(NodeId node);
  absl::Status Collect(NodeId node, Cone& cone);
  absl::StatusOr<HostTensor> Compute(ValueId value, const std::vector<const HostTensor*>& inputs) const;
  // `value`, with what is own and not in `replaced` computed anew (and added there).
  absl::StatusOr<HostTensor> ComputeFrom(const Cone& cone, ValueId value, Tensors& replaced) const;
  absl::Status AllowInput(ValueId update, ValueId input, const Cone& cone, ExpectedState& expected) const;

  const Graph& serial_;
  const F64Graph& f64_;
  const Reader read_;
  std::set<ValueId> given_;           // gradients, with all that is made beside them, and updates of states
  std::map<ValueId, Found> scalars_;  // rates, clipping factors, ...: all updates share them
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_F64_UPDATE_H_
