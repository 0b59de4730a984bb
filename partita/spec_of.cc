#include "partita/spec_of.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "graph/value/node_name.h"
#include "run/spec/check_spec.h"
#include "run/spec/config_file.h"
#include "run/spec/flag.h"
#include "runtime/base/status.h"

namespace partita::api {
namespace {

constexpr std::string_view kGradientNorm = "gradient-norm";

// What the library has instead: results are returned, lines go to SetLog.
bool IsOfPrograms(const FlagDefinition& flag) {
  const auto* const message = flag.path.back()->containing_type();
  const bool is_output = message == OutputSpec::descriptor() && flag.name != kGradientNorm;
  return is_output || message == GeneralSpec::descriptor() || flag.name == "save-strategy" ||
         flag.name == "loss";  // Import has it
}

// Other forms of what is printed of a plan.
bool IsOfPrintedPlans(const FlagDefinition& flag) {
  constexpr std::string_view kForms[] = {"full", "explain", "diff", "dump-after"};
  return std::ranges::find(kForms, flag.name) != std::end(kForms);
}

std::vector<FlagDefinition> SettingsOf(SpecUse use) {
  const std::vector<FlagDefinition> all = FlagsOf(*RunSpec::descriptor());
  std::vector<FlagDefinition> settings = FlagsOfCommand(all, "train");
  if (use == SpecUse::kPlan) {
    for (FlagDefinition& flag : FlagsOfCommand(all, "plan")) {
      const bool known = std::ranges::find(settings, flag.name, &FlagDefinition::name) != settings.end();
      if (!known && !IsOfPrintedPlans(flag)) settings.push_back(std::move(flag));
    }
  }
  std::erase_if(settings, IsOfPrograms);
  return settings;
}

absl::Status SetSplit(const Split& split, RunSpec& spec) {
  SplitSpec& to = *spec.mutable_split();
  const bool by_rule = split.data != 1 || split.model != 1;
  if (by_rule && !split.strategy_file.empty()) {
    return InvalidArgument("a split names the strategy {} and {} x {} ranks; one of them is allowed",
                           Quoted(split.strategy_file), split.data, split.model);
  }
  if (!split.search.empty() && (by_rule || !split.strategy_file.empty())) {
    return InvalidArgument("Split::search is {}, and the split says {}; one of them is allowed", Quoted(split.search),
                           by_rule ? fmt::format("{} x {} ranks", split.data, split.model)
                                   : "the strategy " + Quoted(split.strategy_file));
  }
  if (split.data < 1 || split.model < 1) {
    return InvalidArgument("a split is {} x {} ranks; expected 1 or more of each", split.data, split.model);
  }
  if (split.data != 1) to.set_dp(split.data);
  if (split.model != 1) to.set_mp(split.model);
  if (!split.strategy_file.empty()) to.set_strategy(split.strategy_file);
  if (!split.search.empty()) to.set_search(split.search);
  if (split.ranks != 0) to.set_ranks(split.ranks);
  if (split.micro_batches != 0) to.set_micro_batches(split.micro_batches);
  if (!split.recompute.empty()) to.set_recompute(split.recompute);
  if (!split.cluster.empty()) spec.mutable_machine()->set_cluster(split.cluster);
  if (!split.profile.empty()) spec.mutable_machine()->set_profile(split.profile);
  return absl::OkStatus();
}

absl::Status SetOptions(const Options& options, RunSpec& spec) {
  if (options.steps < 0) return InvalidArgument("Options::steps is {}; expected 0 or more", options.steps);
  if (options.f64 && options.mixed_precision) {
    return InvalidArgument("options say f64 and mixed_precision; one of them is allowed");
  }
  ExecutionSpec& execution = *spec.mutable_execution();
  spec.mutable_train()->set_seed(static_cast<int64_t>(options.seed));
  if (options.steps > 0) spec.mutable_train()->set_steps(options.steps);
  if (options.threads_per_rank != 0) execution.set_threads(options.threads_per_rank);
  if (options.memory_limit != 0) execution.set_memory(options.memory_limit);
  if (options.f64 || options.mixed_precision) execution.set_precision(options.f64 ? "f64" : "bf16");
  if (options.device == Device::kCuda) execution.set_device("cuda");
  if (options.gpu >= 0) execution.set_gpu(options.gpu);
  if (!options.data.empty()) spec.mutable_dataset()->set_data(options.data);
  return absl::OkStatus();
}

absl::Status SetSetting(const std::vector<FlagDefinition>& known, const std::string& name, const std::string& value,
                        RunSpec& spec) {
  const auto found = std::ranges::find(known, name, &FlagDefinition::name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const FlagDefinition& setting : known) names.push_back(setting.name);
    return InvalidArgument("there is no setting {}{}", Quoted(name), Suggestion(name, names));
  }
  if (HasValue(*found, spec)) {
    return InvalidArgument("setting {}: a field of Split or Options says it as well; one of them is allowed", name);
  }
  const absl::Status allowed = CheckFlagValue(*found, value);
  if (!allowed.ok()) return InvalidArgument("setting {}: {}", name, std::string(allowed.message()));
  SetValue(*found, value, spec);
  return absl::OkStatus();
}

// The values that fields of the caller's set are within what the flag allows.
absl::Status CheckFields(const RunSpec& spec) {
  for (const GivenFlag& given : GivenFlags(spec)) {
    const absl::Status allowed = CheckFlagValue(given.flag, given.value);
    if (!allowed.ok()) return InvalidArgument("setting {}: {}", given.flag.name, std::string(allowed.message()));
  }
  return absl::OkStatus();
}

// The description with what holds for every run of the library, checked.
absl::StatusOr<RunSpec> Completed(const std::string& source, SpecUse use, RunSpec spec) {
  // Nothing is written to the user's home unless a setting asks for it.
  if (!spec.execution().has_deterministic()) spec.mutable_execution()->set_deterministic(true);
  if (!spec.execution().has_plan_cache()) spec.mutable_execution()->set_plan_cache("");
  spec.mutable_model()->set_graph(source);
  // Of a program, the norm needs a record that it goes to; here steps return it.
  RunSpec checked = spec;
  checked.mutable_output()->clear_gradient_norm();
  RETURN_IF_ERROR(CheckSpec(checked, use == SpecUse::kPlan ? "plan" : "train"));
  return spec;
}

// The settings of a text.
absl::StatusOr<RunSpec> SettingsIn(const std::string& text, SpecUse use) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string::npos && text[begin] == '{';
  const auto config = is_json ? ParseJsonConfig(text) : ParseConfigFile(text);
  if (!config.ok()) return WithContext("the settings", config.status());
  RunSpec spec;
  const std::vector<FlagDefinition> known = SettingsOf(use);
  for (const ConfigEntry& entry : config->entries) RETURN_IF_ERROR(SetSetting(known, entry.key, entry.value, spec));
  return spec;
}

}  // namespace

absl::StatusOr<RunSpec> SpecOf(const std::string& source, const Split& split, const Options& options, SpecUse use) {
  RunSpec spec;
  RETURN_IF_ERROR(SetSplit(split, spec));
  RETURN_IF_ERROR(SetOptions(options, spec));
  RETURN_IF_ERROR(CheckFields(spec));
  const std::vector<FlagDefinition> known = SettingsOf(use);
  for (const auto& [name, value] : options.settings) RETURN_IF_ERROR(SetSetting(known, name, value, spec));
  return Completed(source, use, std::move(spec));
}

absl::StatusOr<RunSpec> SpecOf(const std::string& source, const Run& run, SpecUse use) {
  ASSIGN_OR_RETURN(RunSpec spec, SettingsIn(run.settings, use));
  return Completed(source, use, std::move(spec));
}

absl::StatusOr<RunSpec> SettingsIn(const std::string& text) { return SettingsIn(text, SpecUse::kSession); }

}  // namespace partita::api
