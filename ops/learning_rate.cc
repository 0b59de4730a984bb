// rate = learning_rate(iteration), a scalar of element type `dtype`; formulas in learning_rate_schedule.h.
//   schedule constant | step | exponential | cosine | one_cycle
//   base            the rate that the schedule starts from; the peak of one_cycle
//   steps           of the whole run: cosine and one_cycle need it
//   warmup_steps    rise from 0 to base before the schedule begins; less than steps (not with one_cycle)
//   decay, decay_steps                     step and exponential
//   final                                  cosine: where it ends
//   start_fraction, initial_divisor, final_divisor    one_cycle
//
// i' = increment(iteration): the step's number, 0 for the first. Both are the same on all ranks: no split.
#include "ops/learning_rate.h"

#include "ops/definitions.h"
#include "ops/op_builder.h"
#include "ops/op_checks.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Kind = LearningRateSchedule::Kind;

const std::pair<const char*, Kind> kSchedules[] = {{"constant", Kind::kConstant},
                                                   {"step", Kind::kStep},
                                                   {"cosine", Kind::kCosine},
                                                   {"exponential", Kind::kExponential},
                                                   {"one_cycle", Kind::kOneCycle}};

Kind KindOf(const std::string& name) {
  for (const auto& [known, kind] : kSchedules) {
    if (name == known) return kind;
  }
  CHECK(false);
  return Kind::kConstant;
}

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
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::Status CheckOneCycle(const Attributes& attributes) {
  RETURN_IF_ERROR(CheckAtLeast(attributes, "steps", 1));
  RETURN_IF_ERROR(CheckNumber(attributes, "start_fraction", 0, 1));
  RETURN_IF_ERROR(CheckNumber(attributes, "initial_divisor", 1));
  RETURN_IF_ERROR(CheckNumber(attributes, "final_divisor", 1));
  if (attributes.Int("warmup_steps") == 0) return absl::OkStatus();
  return InvalidArgument(
      "attribute warmup_steps is {}; one_cycle has a warm-up of its own (start_fraction): 0 is needed",
      attributes.Int("warmup_steps"));
}

}  // namespace

std::vector<std::string> ScheduleNames() {
  std::vector<std::string> names;
  for (const auto& schedule : kSchedules) names.emplace_back(schedule.first);
  return names;
}

absl::Status CheckSchedule(const Attributes& attributes) {
  RETURN_IF_ERROR(CheckChoice(attributes, "schedule", ScheduleNames()));
  RETURN_IF_ERROR(CheckNumber(attributes, "base", 0));
  RETURN_IF_ERROR(CheckAtLeast(attributes, "steps", 0));
  RETURN_IF_ERROR(CheckAtLeast(attributes, "warmup_steps", 0));
  const Kind kind = KindOf(attributes.String("schedule"));
  if (kind == Kind::kOneCycle) return CheckOneCycle(attributes);
  if (kind == Kind::kStep || kind == Kind::kExponential) {
    RETURN_IF_ERROR(CheckFraction(attributes, "decay"));
    RETURN_IF_ERROR(CheckAtLeast(attributes, "decay_steps", 1));
  }
  if (kind == Kind::kCosine) {
    RETURN_IF_ERROR(CheckNumber(attributes, "final", 0));
    RETURN_IF_ERROR(CheckAtLeast(attributes, "steps", 1));
  }
  const int64_t steps = attributes.Int("steps"), warmup = attributes.Int("warmup_steps");
  if (steps == 0 || warmup < steps) return absl::OkStatus();
  return InvalidArgument("attribute warmup_steps is {}; it must be less than the {} steps", warmup, steps);
}

LearningRateSchedule ScheduleOf(const Attributes& attributes) {
  LearningRateSchedule schedule;
  schedule.kind = KindOf(attributes.String("schedule"));
  schedule.base = attributes.Float("base");
  schedule.final = attributes.Float("final");
  schedule.decay = attributes.Float("decay");
  schedule.start_fraction = attributes.Float("start_fraction");
  schedule.initial_divisor = attributes.Float("initial_divisor");
  schedule.final_divisor = attributes.Float("final_divisor");
  schedule.steps = attributes.Int("steps");
  schedule.warmup_steps = attributes.Int("warmup_steps");
  schedule.decay_steps = attributes.Int("decay_steps");
  return schedule;
}

OpDefinition LearningRateOp() {
  return Op("learning_rate")
      .Internal()
      .Inputs({"iteration"})
      .Attribute("dtype", "f32")
      .Required("schedule", "constant")
      .Required("base", 0.0)
      .Attribute("steps", int64_t{0})
      .Attribute("warmup_steps", int64_t{0})
      .Attribute("decay", 0.1)
      .Attribute("decay_steps", int64_t{0})
      .Attribute("final", 0.0)
      .Attribute("start_fraction", 0.3)
      .Attribute("initial_divisor", 25.0)
      .Attribute("final_divisor", 1e4)
      .Shape(RateShape)
      .Flops([](const NodeView&) { return 10.0; });
}

OpDefinition IncrementOp() {
  return Op("increment").Internal().Inputs({"iteration"}).Shape(IncrementShape).InPlace(0, 0);
}

}  // namespace partita
