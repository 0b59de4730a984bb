// Runs a partitioned program and the same model on one rank side by side, and compares what they compute: every forward
// value that both have, the parameters' gradients, and the states after the update (docs/design.md 5.3).
//
// Two tensors agree if max|a - b| <= tolerance * max(max|b|, floor * what b is the rest of) (step_scale.h), b being the
// serial one; of the update of a state some roundings of the state are allowed too, and an accuracy may differ by the
// samples whose classes are tied within what the logits may differ by (undecided.h). Values are copied right after the
// launch that makes them, from where they really lie.
#ifndef PARTITA_RUNTIME_API_VERIFY_PLAN_H_
#define PARTITA_RUNTIME_API_VERIFY_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/api/session.h"

namespace partita {

class StepScale;

struct VerifyPlanOptions {
  SessionOptions session;  // of both; values are always observed
  double tolerance = 5e-4;
  double floor = 1e-2;
  // Each step of the plan begins with the serial run's states. Else both run freely, each from its own.
  bool same_beginning = true;
};

// One tensor of one step.
struct TensorDifference {
  enum class Kind : uint8_t { kForward, kGradient, kUpdate };
  Kind kind = Kind::kForward;
  std::string name;       // of the value, or of the parameter or state
  double difference = 0;  // max|a - b|; infinite if one of them is not finite
  double allowed = 0;
  bool replicas_equal = true;  // where the layout says R, the ranks hold the same bits

  bool agrees() const { return replicas_equal && difference <= allowed; }
};

// "gradient of 'w': differs by 1.2e-3, allowed is 4e-5"
std::string ToString(const TensorDifference& difference);

struct StepComparison {
  double serial_loss = 0, loss = 0;
  std::vector<TensorDifference> tensors;  // forward in program order, then gradients, then updates

  // nullptr if all agree.
  const TensorDifference* First() const;
  // The one that comes nearest to what is allowed, or passes it furthest.
  const TensorDifference* Worst() const;
};

// Thread-compatible.
class PlanVerifier {
 public:
  // Two programs of the same model; `serial` on one rank. Values are matched by name: one that a pass has joined to
  // another node in one of the two programs alone is not compared.
  static absl::StatusOr<std::unique_ptr<PlanVerifier>> Start(Program serial, Program plan,
                                                             const VerifyPlanOptions& options);

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
  };
  const std::vector<Gradient>& gradients() const { return gradients_; }

 private:
  explicit PlanVerifier(const VerifyPlanOptions& options) : options_(options) {}
  // Before and after a step, in the order of StateNames.
  struct States {
    std::vector<HostTensor> before, after;
  };

  absl::Status MatchNames();
  absl::Status CompareForward(const StepScale& scale, StepComparison& comparison) const;
  absl::Status CompareGradients(const StepScale& scale, StepComparison& comparison) const;
  absl::Status CompareStates(const StepScale& scale, const States& serial, const States& plan,
                             StepComparison& comparison) const;
  // `rest_of`: how large the numbers are that the value is the rest of.
  TensorDifference Compare(TensorDifference::Kind kind, const std::string& name, const std::vector<double>& plan,
                           const std::vector<double>& serial, double rest_of) const;
  // Replaces what an accuracy may differ by. `comparison`: of the values before it.
  absl::Status AllowUndecided(const Node& node, const StepComparison& comparison, TensorDifference& accuracy) const;

  const VerifyPlanOptions options_;
  std::unique_ptr<Session> serial_, plan_;
  // A value of the serial graph, and what it is in the plan's: itself, or one value for each micro-batch.
  struct Forward {
    std::string serial;
    std::vector<std::string> plan;
  };
  absl::StatusOr<WholeValue> PlanValue(const Forward& value, size_t elements) const;

  std::vector<Forward> forward_;  // in program order
  std::vector<Gradient> gradients_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_VERIFY_PLAN_H_
