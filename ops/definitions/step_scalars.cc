// apply = all_finite(loss, sum_of_squares?): i32[], 1 if neither is NaN or infinite, else 0. It is what gates every
// update of a state (docs/design.md 5.24); the same on all ranks: no split. A launch of it may make the learning rate,
// the next step's number and the clip's factor as well (graph/lower/join_scalars.h).
//
// rate = learning_rate(iteration), a scalar of element type `dtype`; formulas in ops/values/learning_rate_schedule.h.
//   schedule constant | step | exponential | halving | inverse_square_root | cosine | linear | polynomial |
//                   one_cycle | plateau
//   base            the rate that the schedule starts from; the peak of one_cycle
//   steps           of the whole run: cosine, linear, polynomial and one_cycle need it
//   warmup_steps    rise from 0 to base before the schedule begins; a run of fewer steps ends within it (not with
//                   one_cycle)
//   warmup          how it rises: linear | exponential
//   decay, decay_steps                     step and exponential
//   decay_start, decay_steps, decay_times  halving: the step from which on, every how many, how often at most
//   power                                  polynomial
//   final                                  cosine, linear, polynomial: where it ends; step and exponential: below which
//   it does not fall start_fraction, initial_divisor, final_divisor    one_cycle
//
// i' = increment(iteration, apply?): the step's number, 0 for the first; a step that is not applied is not counted.
// All of these are the same on all ranks: no split.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/values/learning_rate.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckIteration(const NodeView& node) {
  RETURN_IF_ERROR(CheckDType(node, 0, "iteration", DType::kI32));
  return CheckShape(node, 0, "iteration", {}, "a scalar");
}

absl::StatusOr<std::vector<TensorType>> RateShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckIteration(node));
  ASSIGN_OR_RETURN(const DType dtype, DTypeAttribute(node.attributes));
  if (!IsFloating(dtype)) return InvalidArgument("attribute dtype is {}; a rate is f32 or f64", Name(dtype));
  RETURN_IF_ERROR(CheckSchedule(node.attributes));
  return std::vector<TensorType>{{dtype, {}}};
}

absl::StatusOr<std::vector<TensorType>> IncrementShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckIteration(node));
  RETURN_IF_ERROR(CheckApply(node, 1));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> ApplyShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "loss"));
  RETURN_IF_ERROR(CheckShape(node, 0, "loss", {}, "a scalar"));
  RETURN_IF_ERROR(CheckLike(node, 1, "sum_of_squares", {}, "a scalar"));
  return std::vector<TensorType>{{DType::kI32, {}}};
}

}  // namespace

OpDefinition LearningRateOp() {
  return Op("learning_rate")
      .As(Role::kLearningRate)
      .Internal()
      .Inputs({"iteration"})
      .Attribute("dtype", "f32")
      .Required("schedule", "constant")
      .Required("base", 0.0)
      .Attribute("steps", int64_t{0})
      .Attribute("warmup_steps", int64_t{0})
      .Attribute("decay", 0.1)
      .Attribute("decay_steps", int64_t{0})
      .Attribute("decay_start", int64_t{0})
      .Attribute("decay_times", int64_t{0})
      .Attribute("warmup", kLinearWarmup)
      .Attribute("final", 0.0)
      .Attribute("power", 1.0)
      .Attribute("start_fraction", kStartFraction)
      .Attribute("initial_divisor", kInitialDivisor)
      .Attribute("final_divisor", kFinalDivisor)
      .Shape(RateShape)
      .Flops([](const NodeView&) { return 10.0; });
}

OpDefinition IncrementOp() {
  return Op("increment")
      .As(Role::kIncrement)
      .Internal()
      .Inputs({"iteration"})
      .Gate("apply")
      .Shape(IncrementShape)
      .InPlace(0, 0);
}

OpDefinition AllFiniteOp() {
  // In place: the iteration of an increment that is launched with it (graph/lower/join_scalars.h).
  return Op("all_finite")
      .As(Role::kAllFinite)
      .Internal()
      .Inputs({"loss"})
      .Optional("sum_of_squares")
      .Shape(ApplyShape)
      .InPlace(2, 2);
}

}  // namespace partita
