// Runs a partitioned program and the same model on one rank side by side, and compares every forward value that both
// have, the results that a step reports, the parameters' gradients, and the states after the update (docs/design.md
// 5.3). A reference in f64 can be a third witness, for faults that both runs share (reference_walk.h).
//
// - Two values, gradients or results agree if max|a - b| <= tolerance * max(max|b|, floor * what b is the rest of)
//   (step_scale.h), where b is the serial one. An accuracy may differ by the samples whose classes are tied within what
//   the logits may differ by (undecided.h). Values are copied right after the launch that makes them.
// - A gradient in which the two differ by more is right if the plan's is that of the reference at the plan's own
// forward
//   values: near a kink (relu, max-pool) runs that round differently take different sides of it.
// - A result is read where the step leaves it at its end; it must be the bits that its launch wrote.
// - A state after the step agrees if it is what the update makes, in f64, of the gradient that the plan computed, but
//   for the rounding of that update (f64_update.h). A gradient that differs from the serial one by more than is
//   allowed counts as the nearest one that is allowed.
// - The serial run agrees with the reference if each forward value is what its node makes, in f64, of the values that
//   the run read, within `reference_tolerance`, and gradients within `tolerance`.
#ifndef PARTITA_RUNTIME_API_VERIFY_PLAN_H_
#define PARTITA_RUNTIME_API_VERIFY_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/f64_graph.h"
#include "runtime/api/f64_update.h"
#include "runtime/api/session.h"

namespace partita {

class StepScale;

struct VerifyPlanOptions {
  SessionOptions session;  // of both; values are always observed
  double tolerance = 5e-4;
  double floor = 1e-2;
  double reference_tolerance = 1e-4;
  // The serial run is compared with the reference in every step. Else the reference is asked only of a gradient in
  // which plan and serial run differ.
  bool reference_every_step = true;
  // Each step of the plan begins with the serial run's states. Else both run freely, each from its own.
  bool same_beginning = true;
};

// One tensor of one step.
struct TensorDifference {
  // kResult: as a step reports it. kStep: whether the step was applied.
  enum class Kind : uint8_t { kForward, kResult, kStep, kGradient, kUpdate };
  // The two sides that differ. kOwnLaunch: a run reports another value than its launch wrote.
  enum class Pair : uint8_t { kPlanSerial, kSerialReference, kPlanOwnLaunch, kSerialOwnLaunch };
  Kind kind = Kind::kForward;
  std::string name;       // of the value, result, parameter or state
  double difference = 0;  // max|a - b|, of an update at the element that is the worst; infinite if one is not finite
  double allowed = 0;
  Pair pair = Pair::kPlanSerial;
  bool replicas_equal = true;  // where the layout says R, the ranks' values are bitwise identical

  bool agrees() const { return replicas_equal && difference <= allowed; }
};

// "gradient of 'w': differs by 1.2e-3, allowed is 4e-5"
std::string ToString(const TensorDifference& difference);

// What a step reports, by both runs.
struct ReportedResult {
  std::string name;  // the user's
  double serial = 0, plan = 0;
};

struct StepComparison {
  double serial_loss = 0, loss = 0;
  std::vector<ReportedResult> results;  // the loss, further losses, metrics
  // Forward in program order, then results, gradients, updates, then the serial run beside the reference. Where only
  // one run applied the step there is a kStep alone.
  std::vector<TensorDifference> tensors;

  // nullptr if all agree.
  const TensorDifference* First() const;
  // The one that comes nearest to what is allowed, or passes it furthest.
  const TensorDifference* Worst() const;
};

// Thread-compatible.
class PlanVerifier {
 public:
  // Two programs of the same model; `serial` on one rank. Values are matched by name: one that a pass has joined to
  // another node in one of the two programs alone is not compared. `reference`: the same model's for one rank, which is
  // computed in f64 node by node; best with no nodes joined (ProgramOptions::fuse). Unset: no reference is computed.
  static absl::StatusOr<std::unique_ptr<PlanVerifier>> Start(Program serial, Program plan,
                                                             const VerifyPlanOptions& options,
                                                             const std::optional<Program>& reference = std::nullopt);

  // Writes an input to both, before each step.
  absl::Status StageInput(const std::string& name, const HostTensor& whole);

  // One training step of both. An error is that of a step, not a difference.
  absl::StatusOr<StepComparison> Step();

  // Where a step that returned kOutOfRange went wrong, after its inputs were staged again (Session::Diagnose).
  absl::Status Diagnose();

  Session& serial() { return *serial_; }
  Session& plan() { return *plan_; }

  // Parameters and their gradients: the names of the values in the two training graphs.
  struct Gradient {
    std::string parameter, serial, plan;
    NodeId update = -1;  // the node of the serial graph that reads it to update the parameter
  };
  const std::vector<Gradient>& gradients() const { return gradients_; }

 private:
  explicit PlanVerifier(const VerifyPlanOptions& options) : options_(options) {}
  // Before and after a step, in the order of StateNames.
  struct States {
    std::vector<HostTensor> before, after;
  };

  absl::Status MatchNames();
  void MatchReads(NodeId serial, NodeId plan);
  void AddResults(const StepResult& serial, const StepResult& plan, StepComparison& comparison) const;
  absl::Status CompareForward(const StepScale& scale, StepComparison& comparison) const;
  absl::Status CompareResults(const StepScale& scale, StepComparison& comparison) const;
  absl::Status CompareGradients(const StepScale& scale, StepComparison& comparison) const;
  absl::Status CompareStates(const StepScale& scale, const States& plan, StepComparison& comparison) const;
  absl::Status CompareReference(const StepScale& scale, StepComparison& comparison) const;
  // Allows gradients of the plan that are right at the plan's own forward values.
  absl::Status AllowKinks(const StepScale& scale, StepComparison& comparison) const;
  // `allowed`: of max|b|, or of `floor` times `rest_of`, which is how large the numbers are that b is the rest of.
  TensorDifference Compare(TensorDifference::Kind kind, const std::string& name, const std::vector<double>& a,
                           const std::vector<double>& b, double rest_of, double allowed) const;
  // Replaces what a result of the serial graph may differ by if its node is an accuracy, or one over a number.
  // `comparison`: of the values before it.
  absl::Status AllowUndecided(const Node& node, const StepComparison& comparison, TensorDifference& tensor) const;

  const VerifyPlanOptions options_;
  std::unique_ptr<Session> serial_, plan_;
  // A value of the serial graph, and what it is in the plan's: itself, or one value for each micro-batch.
  struct Forward {
    std::string serial;
    std::vector<std::string> plan;
  };
  absl::StatusOr<WholeValue> PlanValue(const Forward& value, size_t elements) const;
  absl::StatusOr<std::optional<WholeValue>> ObservedBySerial(const std::string& name) const;
  // What the plan's update reads as `value` of the serial graph in the node `reader`.
  absl::StatusOr<ReadValue> ReadByPlan(const StepScale& scale, const States& plan, const StepComparison& comparison,
                                       ValueId value, NodeId reader) const;

  std::vector<Forward> forward_;  // in program order
  std::vector<Gradient> gradients_;
  // What a node of the update reads, by the value and the node of the serial graph: the name in the plan.
  std::map<std::pair<ValueId, NodeId>, std::string> plan_reads_;
  std::optional<F64Graph> f64_;        // the serial graph
  std::optional<F64Graph> reference_;  // unset: there is none
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_VERIFY_PLAN_H_
