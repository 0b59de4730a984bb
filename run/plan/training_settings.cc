#include "run/plan/training_settings.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/optimizer/optimizer.h"
#include "graph/proto_io/proto_io_message.h"
#include "graph/proto_io/proto_io_optimizer.h"
#include "graph/read/frozen_model.h"
#include "graph/read/learning_rate.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "proto/graph.pb.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "run/tuning/adapters.h"
#include "run/tuning/class_weights.h"
#include "run/tuning/parameter_groups.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kClipNorm[] = "clip_norm";

absl::Status AsFlagError(const char* flag, const absl::Status& status) {
  return FlagError("flag --{}: {}", flag, std::string(status.message()));
}

Attribute ValueOfText(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const std::optional<int64_t> integer = NumberOf<int64_t>(text)) return *integer;
  if (const std::optional<double> number = NumberOf<double>(text)) return *number;
  return text;
}

// "adamw,beta2=0.95,weight_decay=0.1"
struct NamedAttributes {
  std::string name;
  Attributes attributes;
};

absl::StatusOr<NamedAttributes> ParseNamed(const std::string& text) {
  const std::vector<std::string> words = ListOf(text);
  NamedAttributes named{words[0], {}};
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == words[i].size()) {
      return InvalidArgument("found {}; expected name=value behind {}", Quoted(words[i]), Quoted(named.name));
    }
    const std::string name = words[i].substr(0, equals);
    if (named.attributes.Has(name)) return InvalidArgument("{} is given twice; once is allowed", Quoted(name));
    named.attributes.Set(name, ValueOfText(words[i].substr(equals + 1)));
  }
  return named;
}

absl::StatusOr<Optimizer> OptimizerOf(const std::string& text) {
  if (FormatOf(text).ok()) {
    OptimizerFileProto file;
    RETURN_IF_ERROR(LoadMessage(text, file));
    if (!file.has_optimizer()) return InvalidArgument("{}: has no optimizer", text);
    absl::StatusOr<Optimizer> optimizer = ReadOptimizer(file.optimizer(), Ops());
    if (!optimizer.ok()) return WithContext(text, optimizer.status());
    return optimizer;
  }
  ASSIGN_OR_RETURN(NamedAttributes named, ParseNamed(text));
  Optimizer optimizer;
  optimizer.name = named.name;
  if (const Attribute* const norm = named.attributes.Find(kClipNorm)) {
    const double* const number = std::get_if<double>(norm);
    const int64_t* const integer = std::get_if<int64_t>(norm);
    if (number == nullptr && integer == nullptr) return InvalidArgument("{} is no number", kClipNorm);
    optimizer.clip_norm = number != nullptr ? *number : static_cast<double>(*integer);
    named.attributes.Remove(kClipNorm);
  }
  optimizer.attributes = std::move(named.attributes);
  return CompleteOptimizer(optimizer, Ops().optimizers());
}

// The length of a schedule stays what the model says, or what the caller of the library does.
absl::Status SetScheduleOf(const std::string& text, LearningRate& rate) {
  ASSIGN_OR_RETURN(const NamedAttributes named, ParseNamed(text));
  LearningRate result;
  result.base = rate.base;
  result.steps = rate.steps;
  result.schedule = named.name;
  if (named.attributes.Has("schedule")) return InvalidArgument("schedule is {} already", Quoted(named.name));
  RETURN_IF_ERROR(SetSchedule(named.attributes, result));
  RETURN_IF_ERROR(VerifyLearningRate(result));
  rate = std::move(result);
  return absl::OkStatus();
}

}  // namespace

ImportOptions ImportOptionsOf(const RunSpec& spec) {
  return {.loss = spec.model().loss(), .frozen_statistics = spec.model().freeze_statistics()};
}

absl::StatusOr<Model> WithTrainingSettings(const RunSpec& spec, Model model) {
  const ModelSpec& settings = spec.model();
  if (settings.has_learning_rate()) model.learning_rate.base = settings.learning_rate();
  if (settings.has_schedule()) {
    const absl::Status set = SetScheduleOf(settings.schedule(), model.learning_rate);
    if (!set.ok()) return AsFlagError("schedule", set);
  }
  if (settings.has_optimizer()) {
    absl::StatusOr<Optimizer> optimizer = OptimizerOf(settings.optimizer());
    if (!optimizer.ok()) return AsFlagError("optimizer", optimizer.status());
    model.optimizer = *std::move(optimizer);
  }
  ASSIGN_OR_RETURN(model, Adapted(spec, std::move(model)));  // its groups may be of adapters
  if (settings.has_optimizer()) {
    const absl::Status fits = VerifyPatterns(model.graph, model.optimizer);
    if (!fits.ok()) return AsFlagError("optimizer", fits);
  }
  if (settings.has_freeze() || settings.freeze_statistics()) {
    Freezing freezing{{}, settings.freeze_statistics()};
    if (settings.has_freeze()) freezing.parameters = ListOf(settings.freeze());
    absl::StatusOr<Model> frozen = Frozen(model, freezing, Ops());
    if (!frozen.ok()) return AsFlagError(settings.has_freeze() ? "freeze" : "freeze-statistics", frozen.status());
    model = *std::move(frozen);
  }
  RETURN_IF_ERROR(AddParameterGroups(spec, model));
  return WithClassWeights(spec, std::move(model));
}

void ForgetTrainingSettings(RunSpec& spec) {
  ModelSpec& settings = *spec.mutable_model();
  settings.clear_optimizer();
  settings.clear_learning_rate();
  settings.clear_schedule();
  settings.clear_freeze();
  settings.clear_freeze_statistics();
  settings.clear_lora_rank();
  settings.clear_rate_scale();
  settings.clear_no_decay();
  settings.clear_class_weights();
}

}  // namespace partita
