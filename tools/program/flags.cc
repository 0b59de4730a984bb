#include "tools/program/flags.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "absl/strings/str_split.h"
#include "graph/value/node_name.h"
#include "run/spec/config_file.h"
#include "run/spec/flag.h"
#include "runtime/base/check.h"
#include "runtime/base/file_name.h"
#include "runtime/base/text_file.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsPath(const FlagDefinition& definition) {
  return definition.type == FlagType::kPath || definition.type == FlagType::kFolder;
}

// Of the command line alone, as --help.
bool IsGeneral(const FlagDefinition& definition) {
  return definition.path.back()->containing_type() == GeneralSpec::descriptor();
}

std::vector<std::string> Names(const std::vector<FlagDefinition>& flags) {
  std::vector<std::string> names;
  for (const FlagDefinition& definition : flags) names.push_back(definition.name);
  return names;
}

const FlagDefinition* Find(const std::vector<FlagDefinition>& flags, const std::string& name) {
  const auto found = std::ranges::find(flags, name, &FlagDefinition::name);
  return found == flags.end() ? nullptr : &*found;
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

// Flags as other training programs call them, which are too far from our names for a guess by letters.
struct OtherName {
  std::string_view name, ours;
};
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
    {"reshard", "exchanges"},
};

// "; did you mean 'epochs'?" about a name of no flag, or else the names in `known` that share a word with it; `prefix`
// stands before each. Empty: nothing is near.
std::string FlagHint(const std::string& name, const std::vector<std::string>& known, const std::string& prefix = "") {
  const auto has = [&known](const std::string& flag) { return std::ranges::find(known, flag) != known.end(); };
  std::string word = name;
  std::ranges::replace(word, '_', '-');
  std::optional<std::string> meant = has(word) ? std::optional(word) : std::nullopt;
  const auto other = std::ranges::find(kOtherNames, std::string_view(word), &OtherName::name);
  if (!meant && other != std::end(kOtherNames) && has(std::string(other->ours))) meant = std::string(other->ours);
  if (!meant) meant = NearestName(word, known);
  if (meant) return fmt::format("; did you mean {}?", Quoted(prefix + *meant));
  const std::vector<std::string> words = absl::StrSplit(word, '-', absl::SkipEmpty());
  std::vector<std::string> related;
  for (const std::string& flag : known) {
    const std::vector<std::string> parts = absl::StrSplit(flag, '-');
    if (std::ranges::find_first_of(parts, words) != parts.end()) related.push_back(prefix + flag);
  }
  return related.empty() ? "" : fmt::format("; related are {}", fmt::join(related, ", "));
}

// One invocation: each source sets what none before it has given.
class Parser {
 public:
  Parser(const std::vector<FlagDefinition>& known, const std::vector<FlagDefinition>& all,
         const FlagEnvironment& environment, Message& message)
      : known_(known), all_(all), environment_(environment), message_(message) {
    if (const char* folder = environment.get("BUILD_WORKING_DIRECTORY")) folder_ = folder;
  }

  absl::StatusOr<std::vector<std::string>> ReadCommandLine(const std::vector<std::string>& arguments);
  absl::Status ReadEnvironment();
  absl::Status ReadConfig();

 private:
  absl::Status Set(const FlagDefinition& definition, const std::string& value, const std::string& origin);
  absl::Status SetEntry(const ConfigEntry& entry, bool of_report, const std::string& origin);
  absl::Status UnknownFlag(const std::string& given) const;

  const std::vector<FlagDefinition>& known_;
  const std::vector<FlagDefinition>& all_;
  const FlagEnvironment& environment_;
  Message& message_;
  std::string folder_;  // of the caller
};

absl::Status Parser::Set(const FlagDefinition& definition, const std::string& value, const std::string& origin) {
  RETURN_IF_ERROR(About(origin, CheckFlagValue(definition, value)));
  SetValue(definition, IsPath(definition) ? Resolve(folder_, value) : value, message_);
  return absl::OkStatus();
}

// A word that stands for no flag of this command.
absl::Status Parser::UnknownFlag(const std::string& given) const {
  const std::string word = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  if (given == "--" + word && Find(all_, word) != nullptr) {
    return FlagError("flag {} is of other commands, not of this one", Quoted(given));
  }
  const std::string hint = FlagHint(word, Names(known_), "--");
  return FlagError("flag {} is unknown here{}{}", Quoted(given), hint,
                   hint.ends_with('?') ? "" : "; --help lists the flags");
}

absl::StatusOr<std::vector<std::string>> Parser::ReadCommandLine(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest;
  bool only_arguments = false;  // after "--"
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i] == "-h" && !only_arguments ? "--help" : arguments[i];
    if (only_arguments || argument.compare(0, 1, "-") != 0 || argument == "-") {
      if (argument.empty()) return FlagError("an argument is empty; a path or a flag is needed");
      rest.push_back(Resolve(folder_, argument));
      continue;
    }
    if (argument == "--") {
      only_arguments = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string given = argument.substr(0, equals);
    const std::string name = given.compare(0, 2, "--") == 0 ? given.substr(2) : "";
    const FlagDefinition* const definition = Find(known_, name);
    if (definition == nullptr) return UnknownFlag(given);
    if (HasValue(*definition, message_)) return FlagError("flag --{} is given twice; once is allowed", name);
    std::string value = equals == std::string::npos ? "true" : argument.substr(equals + 1);
    if (equals == std::string::npos && definition->type != FlagType::kBool) {
      if (i + 1 == arguments.size() || !IsValue(arguments[i + 1])) {
        return FlagError("flag --{} has no value; --{}={} is needed", name, name, FlagPlaceholder(*definition));
      }
      value = arguments[++i];
    }
    RETURN_IF_ERROR(Set(*definition, value, fmt::format("flag --{}", name)));
  }
  return rest;
}

absl::Status Parser::ReadEnvironment() {
  for (const FlagDefinition& definition : known_) {
    const std::string variable = FlagVariable(environment_.program, definition.name);
    const char* const value = environment_.get(variable.c_str());
    if (value == nullptr || HasValue(definition, message_)) continue;
    RETURN_IF_ERROR(Set(definition, value, fmt::format("environment variable {}", variable)));
  }
  return absl::OkStatus();
}

absl::Status Parser::ReadConfig() {
  const std::string path = GeneralOf(message_).config();
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = environment_.read(path);
  if (!text.ok()) return About("flag --config", text.status());
  const absl::StatusOr<Config> config = HasEnding(path, ".json") ? ParseJsonConfig(*text) : ParseConfigFile(*text);
  if (!config.ok()) return About(Printable(path, 240), config.status());
  if (!config->graph.empty()) SetArgument(config->graph, message_);
  for (const ConfigEntry& entry : config->entries) {
    const std::string line = entry.line == 0 ? "" : fmt::format("{}:", entry.line);
    const std::string origin = fmt::format("{}:{} key {}", Printable(path, 240), line, Quoted(entry.key));
    RETURN_IF_ERROR(SetEntry(entry, config->is_report, origin));
  }
  return absl::OkStatus();
}

// A key of another command's flag changes nothing.
absl::Status Parser::SetEntry(const ConfigEntry& entry, bool of_report, const std::string& origin) {
  const FlagDefinition* const known = Find(known_, entry.key);
  const FlagDefinition* const definition = known != nullptr ? known : Find(all_, entry.key);
  if (definition == nullptr) return FlagError("{} is unknown{}", origin, FlagHint(entry.key, Names(all_)));
  if (IsGeneral(*definition)) {
    if (of_report) return absl::OkStatus();
    return FlagError("{} is of the command line; expected flags of a command", origin);
  }
  if (known == nullptr || HasValue(*known, message_)) return absl::OkStatus();
  if (IsPath(*known) && !entry.is_text) return FlagError("{} is {}; expected a string, a path", origin, entry.value);
  return Set(*known, entry.value, origin);
}

}  // namespace

FlagEnvironment SystemFlagEnvironment(const std::string& program) {
  constexpr int64_t kLargestConfig = 16 << 20;  // reports of many epochs and ranks
  FlagEnvironment environment = {program, [](const char* name) -> const char* { return std::getenv(name); },
                                 [](const std::string& path) { return ReadTextFile(path, kLargestConfig); }};
  if (std::getenv("PARTITA_LAUNCHER") != nullptr) return environment;  // `trainer launch` has said it for its ranks
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    environment.names.push_back(text.substr(0, text.find('=')));
  }
  return environment;
}

absl::StatusOr<std::vector<std::string>> ParseFlags(const std::vector<FlagDefinition>& known,
                                                    const std::vector<FlagDefinition>& all,
                                                    const std::vector<std::string>& arguments,
                                                    const FlagEnvironment& environment, Message& message) {
  Parser parser(known, all, environment, message);
  ASSIGN_OR_RETURN(std::vector<std::string> rest, parser.ReadCommandLine(arguments));
  RETURN_IF_ERROR(parser.ReadEnvironment());
  RETURN_IF_ERROR(parser.ReadConfig());
  return rest;
}

absl::StatusOr<std::string> ToConfig(const std::vector<FlagDefinition>& flags, const Message& message) {
  std::map<std::string, std::string> lines;
  for (const FlagDefinition& definition : flags) {
    if (IsGeneral(definition)) continue;
    const bool given = HasValue(definition, message);
    const std::string value = given ? ValueOf(definition, message) : definition.default_value;
    if (value.empty()) continue;
    const absl::StatusOr<std::string> quoted = QuoteConfigValue(value);
    if (!quoted.ok()) return About("flag --" + definition.name, quoted.status());
    lines[definition.name] = fmt::format("{}{} = {}\n", given ? "" : "# ", definition.name, *quoted);
  }
  std::string text;
  for (const auto& [name, line] : lines) text += line;
  return text;
}

std::string ArgumentIn(const Message& message) {
  const std::optional<FlagDefinition> argument = ArgumentOf(*message.GetDescriptor());
  return argument ? ValueOf(*argument, message) : "";
}

void SetArgument(const std::string& argument, Message& message) {
  const std::optional<FlagDefinition> place = ArgumentOf(*message.GetDescriptor());
  if (!place) return;
  argument.empty() ? ClearValue(*place, message) : SetValue(*place, argument, message);
}

const GeneralSpec& GeneralOf(const Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->message_type() != GeneralSpec::descriptor()) continue;
    return static_cast<const GeneralSpec&>(message.GetReflection()->GetMessage(message, type.field(i)));
  }
  return GeneralSpec::default_instance();
}

}  // namespace partita
