// Estimates the magnitude of the numbers that a step computes with.
//
// Rounding errors scale with the numbers that a value was made from, not with the result: before a batch norm the
// gradient of a bias is 0, and the computed value is the noise of a sum of numbers that are not 0.
#ifndef PARTITA_RUNTIME_API_STEP_SCALE_H_
#define PARTITA_RUNTIME_API_STEP_SCALE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"

namespace partita {

class StepScale {
 public:
  // After a training step of a session on one rank that observes. `before` and `after`: its states, in the order of
  // StateNames. The session must outlive it.
  static absl::StatusOr<StepScale> Of(const Session& serial, const std::vector<HostTensor>& before,
                                      const std::vector<HostTensor>& after);

  // Of a value of the forward pass: the largest magnitude of it and of those that it follows from by first inputs: from
  // what is computed on, not from what that is computed with (weights, statistics).
  double Forward(const std::string& value) const;

  // Of a gradient: the largest norm of a value of the backward pass.
  double Backward() const { return backward_; }

  // Of what the step does to a state. A statistic: the largest magnitude of what is made with it (the variance, of a
  // mean). A parameter: Backward() times what updates are of gradients. What sums up gradients: Backward(). An average:
  // as well that of the state that it is of.
  double Update(const std::string& state) const;

 private:
  explicit StepScale(const Session& serial) : serial_(serial), graph_(serial.graph(kTrainEntry)) {}
  absl::Status AddNode(const Node& node);
  absl::Status AddParameter(const State& state, double change);
  bool ReadsGradient(const Node& node) const;  // it updates a parameter and its slots

  const Session& serial_;
  const Graph& graph_;
  std::vector<double> largest_, forward_;  // by value
  double backward_ = 0;
  double gradient_ = 0, change_ = 0;  // the largest norms: of a parameter's gradient, of what is done to a parameter
};

double LargestMagnitude(const std::vector<double>& elements);

// What a step adds to a state.
std::vector<double> Change(const HostTensor& before, const HostTensor& after);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_STEP_SCALE_H_
