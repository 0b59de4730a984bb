#include "ops/values/learning_rate.h"

#include "ops/forms/op_checks.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Kind = LearningRateSchedule::Kind;

const std::pair<const char*, Kind> kSchedules[] = {
    {"constant", Kind::kConstant},  {"step", Kind::kStep},
    {"cosine", Kind::kCosine},      {"exponential", Kind::kExponential},
    {"halving", Kind::kHalving},    {"inverse_square_root", Kind::kInverseSquareRoot},
    {"linear", Kind::kPolynomial},  {"polynomial", Kind::kPolynomial},
    {"one_cycle", Kind::kOneCycle}, {"plateau", Kind::kConstant}};

Kind KindOf(const std::string& name) {
  for (const auto& [known, kind] : kSchedules) {
    if (name == known) return kind;
  }
  CHECK(false);
  return Kind::kConstant;
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
  RETURN_IF_ERROR(CheckChoice(attributes, "warmup", {kLinearWarmup, kExponentialWarmup}));
  const Kind kind = KindOf(attributes.String("schedule"));
  if (kind == Kind::kOneCycle) return CheckOneCycle(attributes);
  if (kind == Kind::kStep || kind == Kind::kExponential) {
    RETURN_IF_ERROR(CheckFraction(attributes, "decay"));
    RETURN_IF_ERROR(CheckAtLeast(attributes, "decay_steps", 1));
    RETURN_IF_ERROR(CheckNumber(attributes, "final", 0));
  }
  if (kind == Kind::kHalving) {
    RETURN_IF_ERROR(CheckAtLeast(attributes, "decay_start", attributes.Int("warmup_steps")));
    RETURN_IF_ERROR(CheckAtLeast(attributes, "decay_steps", 1));
    RETURN_IF_ERROR(CheckAtLeast(attributes, "decay_times", 1));
  }
  if (kind == Kind::kCosine || kind == Kind::kPolynomial) {
    RETURN_IF_ERROR(CheckNumber(attributes, "final", 0));
    RETURN_IF_ERROR(CheckPositive(attributes, "power"));
    RETURN_IF_ERROR(CheckAtLeast(attributes, "steps", 1));
  }
  return absl::OkStatus();
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
  schedule.power = attributes.String("schedule") == "polynomial" ? attributes.Float("power") : 1;
  schedule.steps = attributes.Int("steps");
  schedule.warmup_steps = attributes.Int("warmup_steps");
  schedule.decay_steps = attributes.Int("decay_steps");
  schedule.decay_start = attributes.Int("decay_start");
  schedule.decay_times = attributes.Int("decay_times");
  schedule.exponential_warmup = attributes.String("warmup") == kExponentialWarmup;
  return schedule;
}

bool NeedsSteps(const LearningRate& rate) {
  const Kind kind = KindOf(rate.schedule);
  return kind == Kind::kCosine || kind == Kind::kPolynomial || kind == Kind::kOneCycle;
}

LearningRateSchedule ScheduleOf(const LearningRate& rate) {
  Attributes attributes = AttributesOf(rate);
  attributes.Set("start_fraction", kStartFraction);
  attributes.Set("initial_divisor", kInitialDivisor);
  attributes.Set("final_divisor", kFinalDivisor);
  return ScheduleOf(attributes);
}

}  // namespace partita
