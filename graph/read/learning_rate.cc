#include "graph/read/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckSteps(const char* field, int64_t value, int64_t least) {
  if (value >= least && value <= kMostSteps) return absl::OkStatus();
  return InvalidArgument("{} is {}; {} to {} are allowed", field, value, least, kMostSteps);
}

absl::Status CheckWord(const char* field, const std::string& word, const std::vector<std::string>& known) {
  if (std::ranges::find(known, word) != known.end()) return absl::OkStatus();
  return InvalidArgument("{} is {}, which is unknown{}", field, Quoted(word), Suggestion(word, known));
}

absl::Status CheckWarmup(const LearningRate& rate) {
  RETURN_IF_ERROR(CheckWord("learning_rate.warmup", rate.warmup, {"linear", "exponential"}));
  RETURN_IF_ERROR(CheckSteps("learning_rate.warmup_steps", rate.warmup_steps, 0));
  if (rate.steps > 0 && rate.warmup_steps >= rate.steps) {
    return InvalidArgument("learning_rate.warmup_steps is {}; less than learning_rate.steps ({}) is allowed",
                           rate.warmup_steps, rate.steps);
  }
  if (rate.schedule == "one_cycle" && rate.warmup_steps > 0) {
    return InvalidArgument("learning_rate.warmup_steps is {}; one_cycle has a warm-up of its own, so 0 is allowed",
                           rate.warmup_steps);
  }
  return absl::OkStatus();
}

absl::Status WrongType(const std::string& name, const char* needed) {
  return InvalidArgument("{} has another type; expected {}", Quoted(name), needed);
}

}  // namespace

absl::Status SetSchedule(const Attributes& schedule, LearningRate& rate) {
  const std::map<std::string, std::string*> texts = {{"schedule", &rate.schedule}, {"warmup", &rate.warmup}};
  const std::map<std::string, double*> numbers = {
      {"decay", &rate.decay}, {"final", &rate.final}, {"power", &rate.power}};
  const std::map<std::string, int64_t*> counts = {{"steps", &rate.steps},
                                                  {"warmup_steps", &rate.warmup_steps},
                                                  {"decay_steps", &rate.decay_steps},
                                                  {"decay_start", &rate.decay_start},
                                                  {"decay_times", &rate.decay_times},
                                                  {"patience", &rate.patience}};
  std::vector<std::string> known;
  for (const auto& [name, field] : texts) known.push_back(name);
  for (const auto& [name, field] : numbers) known.push_back(name);
  for (const auto& [name, field] : counts) known.push_back(name);
  for (const auto& [name, value] : schedule.entries()) {
    if (const auto text = texts.find(name); text != texts.end()) {
      if (!std::holds_alternative<std::string>(value)) return WrongType(name, "a text");
      *text->second = std::get<std::string>(value);
    } else if (const auto number = numbers.find(name); number != numbers.end()) {
      if (const int64_t* const integer = std::get_if<int64_t>(&value)) {
        *number->second = static_cast<double>(*integer);
      } else if (const double* const real = std::get_if<double>(&value)) {
        *number->second = *real;
      } else {
        return WrongType(name, "a floating-point number");
      }
    } else if (const auto count = counts.find(name); count != counts.end()) {
      if (!std::holds_alternative<int64_t>(value)) return WrongType(name, "an integer");
      *count->second = std::get<int64_t>(value);
    } else {
      return InvalidArgument("there is no {}{}", Quoted(name), Suggestion(name, known));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyLearningRate(const LearningRate& rate) {
  RETURN_IF_ERROR(CheckWord("learning_rate.schedule", rate.schedule,
                            {"constant", "step", "exponential", "halving", "inverse_square_root", "cosine", "linear",
                             "polynomial", "one_cycle", "plateau"}));
  RETURN_IF_ERROR(CheckRange("learning_rate.base", rate.base, 0));
  RETURN_IF_ERROR(CheckRange("learning_rate.final", rate.final, 0));
  RETURN_IF_ERROR(CheckSteps("learning_rate.steps", rate.steps, 0));
  RETURN_IF_ERROR(CheckWarmup(rate));
  if (!(rate.power > 0 && std::isfinite(rate.power))) {
    return InvalidArgument("learning_rate.power is {}; a number above 0 is allowed", rate.power);
  }
  if (rate.schedule == "halving") {
    RETURN_IF_ERROR(CheckSteps("learning_rate.decay_start", rate.decay_start, rate.warmup_steps));
    RETURN_IF_ERROR(CheckSteps("learning_rate.decay_times", rate.decay_times, 1));
    return CheckSteps("learning_rate.decay_steps", rate.decay_steps, 1);
  }
  if (rate.schedule == "plateau") {
    if (!(rate.decay > 0 && rate.decay < 1)) {
      return InvalidArgument("learning_rate.decay is {}; more than 0 and less than 1 is allowed", rate.decay);
    }
    return CheckSteps("learning_rate.patience", rate.patience, 1);
  }
  if (rate.schedule == "step" || rate.schedule == "exponential") {
    if (!(rate.decay > 0 && rate.decay <= 1)) {
      return InvalidArgument("learning_rate.decay is {}; more than 0 and at most 1 is allowed", rate.decay);
    }
    return CheckSteps("learning_rate.decay_steps", rate.decay_steps, 1);
  }
  return absl::OkStatus();
}

}  // namespace partita
