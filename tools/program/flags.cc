#include "tools/program/flags.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/text_file.h"
#include "tools/program/config_file.h"
#include "tools/program/exit_code.h"
#include "tools/program/flag_value.h"

namespace partita {
namespace {

struct OtherName {
  std::string_view name, ours;
};

// Flags as other training programs call them, which are too far from our names for a guess by letters.
constexpr OtherName kOtherNames[] = {
    {"batch-size", "batch"},
    {"bs", "batch"},
    {"global-batch-size", "batch"},
    {"train-batch-size", "batch"},
    {"lr", "learning-rate"},
    {"base-lr", "learning-rate"},
    {"max-lr", "learning-rate"},
    {"num-epochs", "epochs"},
    {"num-train-epochs", "epochs"},
    {"max-epochs", "epochs"},
    {"n-epochs", "epochs"},
    {"num-steps", "steps"},
    {"max-steps", "steps"},
    {"train-steps", "steps"},
    {"iterations", "steps"},
    {"max-iter", "steps"},
    {"train-iters", "steps"},
    {"num-workers", "decode-threads"},
    {"workers", "decode-threads"},
    {"data-dir", "data"},
    {"data-path", "data"},
    {"dataset", "data"},
    {"train-data", "data"},
    {"output-dir", "checkpoint"},
    {"checkpoint-dir", "checkpoint"},
    {"save-dir", "checkpoint"},
    {"weights", "load"},
    {"pretrained", "load"},
    {"init-checkpoint", "load"},
    {"save-path", "save"},
    {"num-beams", "beam"},
    {"beam-size", "beam"},
    {"tensor-parallel", "mp"},
    {"tensor-parallel-size", "mp"},
    {"tp", "mp"},
    {"data-parallel", "dp"},
    {"data-parallel-size", "dp"},
    {"nproc-per-node", "nproc"},
    {"np", "nproc"},
    {"num-processes", "nproc"},
    {"master-port", "port"},
    {"dtype", "precision"},
    {"random-seed", "seed"},
    {"num-threads", "threads"},
    {"gradient-accumulation-steps", "micro-batches"},
    {"log-level", "log"},
};

FlagDefinition Flag(std::string name, FlagType type, std::string value, std::string help) {
  FlagDefinition flag;
  flag.name = std::move(name);
  flag.type = type;
  flag.default_value = std::move(value);
  flag.help = std::move(help);
  return flag;
}

std::vector<std::string> Names(const std::vector<FlagDefinition>& flags) {
  std::vector<std::string> names;
  for (const FlagDefinition& flag : flags) names.push_back(flag.name);
  return names;
}

std::string Resolve(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.empty()) return path;
  const std::filesystem::path given(path);
  return given.is_absolute() ? path : (std::filesystem::path(folder) / given).lexically_normal().string();
}

// The line on standard error stays one sentence; the flag and where it came from stand first.
absl::Status About(const std::string& origin, const absl::Status& status) {
  if (status.ok()) return status;
  return FlagError("{}: {}", origin, std::string(status.message()));
}

// Whether a word behind a flag is its value, and no flag itself: `--gpu -1` has a value, `--save --load=x` has none.
bool IsValue(const std::string& word) {
  return word.empty() || word[0] != '-' || (word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])) != 0);
}

}  // namespace

FlagDefinition BoolFlag(std::string name, std::string help) {
  return Flag(std::move(name), FlagType::kBool, "false", std::move(help));
}

FlagDefinition UnsetBoolFlag(std::string name, std::string help) {
  return Flag(std::move(name), FlagType::kBool, "", std::move(help));
}

FlagDefinition IntFlag(std::string name, std::string value, int64_t least, int64_t most, std::string help) {
  FlagDefinition flag = Flag(std::move(name), FlagType::kInt, std::move(value), std::move(help));
  flag.least = static_cast<double>(least);
  flag.most = static_cast<double>(most);
  return flag;
}

FlagDefinition FloatFlag(std::string name, std::string value, double least, double most, std::string help) {
  FlagDefinition flag = Flag(std::move(name), FlagType::kFloat, std::move(value), std::move(help));
  flag.least = least;
  flag.most = most;
  return flag;
}

FlagDefinition BytesFlag(std::string name, std::string value, int64_t least, std::string help) {
  FlagDefinition flag = Flag(std::move(name), FlagType::kBytes, std::move(value), std::move(help));
  flag.least = static_cast<double>(least);
  return flag;
}

FlagDefinition TextFlag(std::string name, std::string value, std::string help) {
  return Flag(std::move(name), FlagType::kText, std::move(value), std::move(help));
}

FlagDefinition PathFlag(std::string name, std::string help) {
  return Flag(std::move(name), FlagType::kPath, "", std::move(help));
}

FlagDefinition FolderFlag(std::string name, std::string help) {
  return Flag(std::move(name), FlagType::kFolder, "", std::move(help));
}

FlagDefinition ChoiceFlag(std::string name, std::string value, std::vector<std::string> choices, std::string help) {
  FlagDefinition flag = Flag(std::move(name), FlagType::kChoice, std::move(value), std::move(help));
  flag.choices = std::move(choices);
  return flag;
}

FlagEnvironment SystemFlagEnvironment(const std::string& program) {
  constexpr int64_t kLargestConfig = 1 << 20;
  FlagEnvironment environment = {program, [](const char* name) -> const char* { return std::getenv(name); },
                                 [](const std::string& path) { return ReadTextFile(path, kLargestConfig); }};
  if (std::getenv("PARTITA_LAUNCHER") != nullptr) return environment;  // `trainer launch` has said it for its ranks
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    environment.names.push_back(text.substr(0, text.find('=')));
  }
  return environment;
}

absl::StatusOr<Flags> Flags::Parse(const std::vector<FlagDefinition>& known, const std::vector<FlagDefinition>& all,
                                   const std::vector<std::string>& arguments, const FlagEnvironment& environment) {
  Flags flags;
  if (const char* folder = environment.get("BUILD_WORKING_DIRECTORY")) flags.folder_ = folder;
  for (const FlagDefinition& flag : known) {
    CHECK(flags.settings_.emplace(flag.name, Setting{flag, flag.default_value, false}).second);
    CHECK(flag.default_value.empty() || CheckFlagValue(flag, flag.default_value).ok());
  }
  RETURN_IF_ERROR(flags.ReadCommandLine(arguments, all));
  RETURN_IF_ERROR(flags.ReadEnvironment(environment));
  RETURN_IF_ERROR(flags.ReadConfig(all, environment));
  return flags;
}

absl::Status Flags::Set(const std::string& name, const std::string& value, const std::string& origin) {
  Setting& setting = settings_.at(name);
  RETURN_IF_ERROR(About(origin, CheckFlagValue(setting.definition, value)));
  const FlagType type = setting.definition.type;
  setting.value = type == FlagType::kPath || type == FlagType::kFolder ? Resolve(folder_, value) : value;
  setting.given = true;
  return absl::OkStatus();
}

// A word that stands for no flag of this command.
absl::Status Flags::UnknownFlag(const std::string& given, const std::vector<FlagDefinition>& all) const {
  std::vector<std::string> names;
  for (const auto& [known, unused] : settings_) names.push_back("--" + known);
  std::string word = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  const std::string name = "--" + word;
  std::ranges::replace(word, '_', '-');
  const auto same = std::ranges::find(kOtherNames, std::string_view(word), &OtherName::name);
  if (same != std::end(kOtherNames) && settings_.contains(std::string(same->ours))) {
    return FlagError("flag {} is unknown here; did you mean '--{}'?", Quoted(given), same->ours);
  }
  for (const FlagDefinition& flag : all) {
    if (given == "--" + flag.name) return FlagError("flag {} is of other commands, not of this one", Quoted(given));
  }
  return FlagError("flag {} is unknown here{}", Quoted(given), Suggestion(name, names));
}

absl::Status Flags::ReadCommandLine(const std::vector<std::string>& arguments, const std::vector<FlagDefinition>& all) {
  bool only_arguments = false;  // after "--"
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i] == "-h" && !only_arguments ? "--help" : arguments[i];
    if (only_arguments || argument.compare(0, 1, "-") != 0 || argument == "-") {
      if (argument.empty()) return FlagError("an argument is empty; a path or a flag is needed");
      arguments_.push_back(Resolve(folder_, argument));
      continue;
    }
    if (argument == "--") {
      only_arguments = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string given = argument.substr(0, equals);
    const bool is_long = given.compare(0, 2, "--") == 0;
    const std::string name = is_long ? given.substr(2) : "";
    auto setting = settings_.find(name);
    if (setting == settings_.end()) return UnknownFlag(given, all);
    if (setting->second.given) return FlagError("flag --{} is given twice; once is allowed", name);
    const FlagDefinition& flag = setting->second.definition;
    std::string value = equals == std::string::npos ? "true" : argument.substr(equals + 1);
    if (equals == std::string::npos && flag.type != FlagType::kBool) {
      if (i + 1 == arguments.size() || !IsValue(arguments[i + 1])) {
        return FlagError("flag --{} has no value; --{}={} is needed", name, name, FlagPlaceholder(flag));
      }
      value = arguments[++i];
    }
    RETURN_IF_ERROR(Set(name, value, fmt::format("flag --{}", name)));
  }
  return absl::OkStatus();
}

absl::Status Flags::ReadEnvironment(const FlagEnvironment& environment) {
  for (const auto& [name, setting] : settings_) {
    const std::string variable = FlagVariable(environment.program, name);
    const char* value = environment.get(variable.c_str());
    if (value == nullptr || setting.given) continue;
    RETURN_IF_ERROR(Set(name, value, fmt::format("environment variable {}", variable)));
  }
  return absl::OkStatus();
}

absl::Status Flags::ReadConfig(const std::vector<FlagDefinition>& all, const FlagEnvironment& environment) {
  auto config = settings_.find("config");
  if (config == settings_.end() || !config->second.given) return absl::OkStatus();
  const std::string path = config->second.value;
  const absl::StatusOr<std::string> text = environment.read(path);
  if (!text.ok()) return About("flag --config", text.status());
  const absl::StatusOr<std::vector<ConfigEntry>> entries = ParseConfigFile(*text);
  if (!entries.ok()) return About(Printable(path, 240), entries.status());
  const std::vector<std::string> names = Names(all);
  for (const ConfigEntry& entry : *entries) {
    const std::string origin = fmt::format("{}:{}: key {}", Printable(path, 240), entry.line, Quoted(entry.key));
    auto setting = settings_.find(entry.key);
    if (setting != settings_.end()) {
      if (!setting->second.given) RETURN_IF_ERROR(Set(entry.key, entry.value, origin));
    } else if (std::find(names.begin(), names.end(), entry.key) == names.end()) {
      return FlagError("{} is unknown{}", origin, Suggestion(entry.key, names));
    }
  }
  return absl::OkStatus();
}

const Flags::Setting& Flags::Find(const std::string& name) const {
  auto setting = settings_.find(name);
  CHECK(setting != settings_.end());
  return setting->second;
}

int64_t Flags::Int(const std::string& name) const {
  const Setting& setting = Find(name);
  CHECK(setting.definition.type == FlagType::kInt || setting.definition.type == FlagType::kBytes);
  if (setting.definition.type == FlagType::kInt) return std::strtoll(setting.value.c_str(), nullptr, 10);
  return setting.value.empty() ? 0 : *ParseBytes(setting.value);
}

double Flags::Float(const std::string& name) const { return std::strtod(Text(name).c_str(), nullptr); }

const std::string& Flags::Text(const std::string& name) const { return Find(name).value; }

bool Flags::Given(const std::string& name) const { return Find(name).given; }

std::map<std::string, std::string> Flags::GivenValues() const {
  std::map<std::string, std::string> values;
  for (const auto& [name, setting] : settings_) {
    if (setting.given) values[name] = setting.value;
  }
  return values;
}

std::string Flags::ToConfig() const {
  std::string text;
  for (const auto& [name, setting] : settings_) {
    if (name == "config" || name == "dump-config" || setting.value.empty()) continue;
    text += fmt::format("{} = {}\n", name, QuoteConfigValue(setting.value));
  }
  return text;
}

}  // namespace partita
