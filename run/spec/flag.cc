#include "run/spec/flag.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "graph/value/node_name.h"
#include "proto/flag.pb.h"
#include "run/spec/spec_error.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::vector<std::string> Words(const std::string& text) { return absl::StrSplit(text, ' ', absl::SkipEmpty()); }

bool IsArgument(const FieldDescriptor& field) {
  return field.options().GetExtension(flag).kind() == FlagKind::ARGUMENT;
}

FlagType TypeOf(const FieldDescriptor& field, const FlagOptions& options) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return FlagType::kBool;
    case FieldDescriptor::CPPTYPE_INT64:
      return options.kind() == FlagKind::BYTES ? FlagType::kBytes : FlagType::kInt;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FlagType::kFloat;
    default:
      CHECK(field.cpp_type() == FieldDescriptor::CPPTYPE_STRING);
      if (options.kind() == FlagKind::LIST) return FlagType::kList;
      if (options.kind() == FlagKind::PATH) return FlagType::kPath;
      if (options.kind() == FlagKind::FOLDER) return FlagType::kFolder;
      return options.choices().empty() ? FlagType::kText : FlagType::kChoice;
  }
}

// 64MiB where it is a whole number of MiB.
std::string FormatBytes(int64_t bytes) {
  constexpr int64_t kMiB = 1 << 20;
  return bytes > 0 && bytes % kMiB == 0 ? fmt::format("{}MiB", bytes / kMiB) : fmt::to_string(bytes);
}

std::string DefaultOf(const FieldDescriptor& field, FlagType type) {
  if (type == FlagType::kBool) return field.has_default_value() ? fmt::to_string(field.default_value_bool()) : "false";
  if (!field.has_default_value()) return "";
  switch (type) {
    case FlagType::kInt:
      return fmt::to_string(field.default_value_int64());
    case FlagType::kBytes:
      return FormatBytes(field.default_value_int64());
    case FlagType::kFloat:
      return fmt::to_string(field.default_value_double());
    default:
      return field.default_value_string();
  }
}

FlagDefinition DefinitionOf(std::vector<const FieldDescriptor*> path) {
  const FieldDescriptor& field = *path.back();
  const FlagOptions& options = field.options().GetExtension(flag);
  const google::protobuf::MessageOptions& of_message = field.containing_type()->options();
  FlagDefinition definition;
  definition.name = field.name();
  std::ranges::replace(definition.name, '_', '-');
  definition.type = TypeOf(field, options);
  definition.default_value = DefaultOf(field, definition.type);
  definition.help = options.help();
  definition.group = of_message.GetExtension(heading);
  definition.least = options.min();
  definition.most = options.max();
  definition.choices.assign(options.choices().begin(), options.choices().end());
  definition.commands = Words(options.has_commands() ? options.commands() : of_message.GetExtension(commands));
  definition.written = options.written();
  definition.own = options.own();
  definition.path = std::move(path);
  return definition;
}

// Flags, or the argument.
void AddFields(const Descriptor& message, bool arguments, const std::vector<const FieldDescriptor*>& place,
               std::vector<FlagDefinition>& flags) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* const field = message.field(i);
    std::vector<const FieldDescriptor*> path = place;
    path.push_back(field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddFields(*field->message_type(), arguments, path, flags);
    } else if (field->options().HasExtension(flag) && IsArgument(*field) == arguments) {
      flags.push_back(DefinitionOf(std::move(path)));
    }
  }
}

bool Takes(const FlagDefinition& definition, const std::string& command) {
  const std::vector<std::string>& takers = definition.commands;
  return takers.empty() || std::ranges::find(takers, command) != takers.end();
}

FlagDefinition InCommand(FlagDefinition definition, const std::string& command) {
  for (const FlagVariant& variant : definition.path.back()->options().GetExtension(flag).variants()) {
    const std::vector<std::string> of = Words(variant.commands());
    if (std::ranges::find(of, command) == of.end()) continue;
    if (variant.has_help()) definition.help = variant.help();
    if (variant.has_default_value()) definition.default_value = variant.default_value();
  }
  return definition;
}

template <typename T>
bool ParseNumber(const std::string& text, T& number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && !text.empty();
}

bool IsAllowed(const FlagDefinition& flag, const std::string& value) {
  int64_t integer = 0;
  double number = 0;
  switch (flag.type) {
    case FlagType::kBool:
      return value == "true" || value == "false";
    case FlagType::kInt:
      return ParseNumber(value, integer) && static_cast<double>(integer) >= flag.least &&
             static_cast<double>(integer) <= flag.most;
    case FlagType::kFloat:
      return ParseNumber(value, number) && std::isfinite(number) && number >= flag.least && number <= flag.most;
    case FlagType::kBytes: {
      const absl::StatusOr<int64_t> bytes = ParseBytes(value);
      return bytes.ok() && static_cast<double>(*bytes) >= flag.least;
    }
    case FlagType::kText:
    case FlagType::kPath:
    case FlagType::kFolder:
      return !value.empty() && value.find('\0') == std::string::npos;
    case FlagType::kList:
      return value.find('\0') == std::string::npos &&
             std::ranges::none_of(ListOf(value), [](const std::string& name) { return name.empty(); });
    case FlagType::kChoice:
      return std::find(flag.choices.begin(), flag.choices.end(), value) != flag.choices.end();
  }
  return false;
}

// The message that the field lies in.
const Message& Holder(const FlagDefinition& definition, const Message& message) {
  const Message* holder = &message;
  for (size_t i = 0; i + 1 < definition.path.size(); ++i) {
    holder = &holder->GetReflection()->GetMessage(*holder, definition.path[i]);
  }
  return *holder;
}

Message& MutableHolder(const FlagDefinition& definition, Message& message) {
  Message* holder = &message;
  for (size_t i = 0; i + 1 < definition.path.size(); ++i) {
    holder = holder->GetReflection()->MutableMessage(holder, definition.path[i]);
  }
  return *holder;
}

}  // namespace

std::vector<FlagDefinition> FlagsOf(const Descriptor& message) {
  std::vector<FlagDefinition> flags;
  AddFields(message, /*arguments=*/false, {}, flags);
  return flags;
}

std::vector<FlagDefinition> FlagsOfCommand(const std::vector<FlagDefinition>& all, const std::string& command) {
  std::vector<FlagDefinition> flags;
  for (const FlagDefinition& definition : all) {
    if (Takes(definition, command)) flags.push_back(InCommand(definition, command));
  }
  return flags;
}

std::optional<FlagDefinition> ArgumentOf(const Descriptor& message) {
  std::vector<FlagDefinition> arguments;
  AddFields(message, /*arguments=*/true, {}, arguments);
  return arguments.empty() ? std::nullopt : std::optional(std::move(arguments.front()));
}

bool IsTakenBy(const FieldDescriptor& field, const std::string& command) {
  return Takes(DefinitionOf({&field}), command);
}

std::string FlagPlaceholder(const FlagDefinition& flag) {
  switch (flag.type) {
    case FlagType::kBool:
      return "true|false";
    case FlagType::kInt:
      return "N";
    case FlagType::kFloat:
      return "NUMBER";
    case FlagType::kBytes:
      return "BYTES";
    case FlagType::kText:
      return "TEXT";
    case FlagType::kList:
      return "NAME,...";
    case FlagType::kPath:
      return "FILE";
    case FlagType::kFolder:
      return "FOLDER";
    case FlagType::kChoice:
      return fmt::format("{}", fmt::join(flag.choices, "|"));
  }
  return "";
}

std::string FlagRange(const FlagDefinition& flag) {
  switch (flag.type) {
    case FlagType::kBool:
      return "true or false";
    case FlagType::kInt:
      return fmt::format("an integer from {} to {}", static_cast<int64_t>(flag.least), static_cast<int64_t>(flag.most));
    case FlagType::kFloat:
      return fmt::format("a number from {} to {}", flag.least, flag.most);
    case FlagType::kBytes:
      return fmt::format("a number of bytes of at least {}, e.g. 4096, 64MiB or 80GB",
                         static_cast<int64_t>(flag.least));
    case FlagType::kText:
      return "text of at least one character";
    case FlagType::kList:
      return "a list of names with commas between them";
    case FlagType::kPath:
    case FlagType::kFolder:
      return "a path";
    case FlagType::kChoice:
      return fmt::format("one of {}", fmt::join(flag.choices, ", "));
  }
  return "";
}

std::vector<std::string> ListOf(const std::string& value) {
  std::vector<std::string> names;
  for (const absl::string_view name : absl::StrSplit(value, ',')) {
    names.emplace_back(absl::StripAsciiWhitespace(name));
  }
  return names;
}

std::string FlagVariable(const std::string& program, const std::string& flag) {
  std::string name = program + "_" + flag;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

absl::Status CheckFlagValue(const FlagDefinition& flag, const std::string& value) {
  if (IsAllowed(flag, value)) return absl::OkStatus();
  const std::string hint = flag.type == FlagType::kChoice && !value.empty() ? Suggestion(value, flag.choices) : "";
  const bool near = hint.find("did you mean") != std::string::npos;
  return FlagError("the value is {}; {} is needed{}", Quoted(value), FlagRange(flag), near ? hint : "");
}

absl::StatusOr<int64_t> ParseBytes(const std::string& text) {
  constexpr std::pair<const char*, int64_t> kUnits[] = {
      {"TiB", int64_t{1} << 40}, {"GiB", 1 << 30},  {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1'000'000'000'000},
      {"GB", 1'000'000'000},     {"MB", 1'000'000}, {"kB", 1000},     {"KB", 1000},     {"B", 1}};
  std::string digits = text;
  int64_t bytes = 1;
  for (const auto& [unit, bytes_of_unit] : kUnits) {
    const std::string end = unit;
    if (digits.size() <= end.size() || digits.compare(digits.size() - end.size(), end.size(), end) != 0) continue;
    digits.resize(digits.size() - end.size());
    bytes = bytes_of_unit;
    break;
  }
  int64_t number = 0;
  if (!ParseNumber(digits, number) || number < 0 || number > std::numeric_limits<int64_t>::max() / bytes) {
    return FlagError("the value is {}; a number of bytes is needed, e.g. 4096, 64MiB or 80GB", Quoted(text));
  }
  return number * bytes;
}

bool HasValue(const FlagDefinition& definition, const Message& message) {
  const Message& holder = Holder(definition, message);
  return holder.GetReflection()->HasField(holder, definition.path.back());
}

std::string ValueOf(const FlagDefinition& definition, const Message& message) {
  const Message& holder = Holder(definition, message);
  const FieldDescriptor* const field = definition.path.back();
  const Reflection& reflection = *holder.GetReflection();
  switch (definition.type) {
    case FlagType::kBool:
      return fmt::to_string(reflection.GetBool(holder, field));
    case FlagType::kInt:
    case FlagType::kBytes:
      return fmt::to_string(reflection.GetInt64(holder, field));
    case FlagType::kFloat:
      return fmt::to_string(reflection.GetDouble(holder, field));
    default:
      return reflection.GetString(holder, field);
  }
}

void SetValue(const FlagDefinition& definition, const std::string& value, Message& message) {
  Message& holder = MutableHolder(definition, message);
  const FieldDescriptor* const field = definition.path.back();
  const Reflection& reflection = *holder.GetReflection();
  switch (definition.type) {
    case FlagType::kBool:
      return reflection.SetBool(&holder, field, value == "true");
    case FlagType::kInt:
      return reflection.SetInt64(&holder, field, std::strtoll(value.c_str(), nullptr, 10));
    case FlagType::kBytes:
      return reflection.SetInt64(&holder, field, *ParseBytes(value));
    case FlagType::kFloat:
      return reflection.SetDouble(&holder, field, std::strtod(value.c_str(), nullptr));
    default:
      return reflection.SetString(&holder, field, value);
  }
}

void ClearValue(const FlagDefinition& definition, Message& message) {
  Message& holder = MutableHolder(definition, message);
  holder.GetReflection()->ClearField(&holder, definition.path.back());
}

std::vector<GivenFlag> GivenFlags(const Message& message) {
  std::vector<GivenFlag> given;
  for (FlagDefinition& definition : FlagsOf(*message.GetDescriptor())) {
    if (definition.path.back()->containing_type() == GeneralSpec::descriptor()) continue;
    if (!HasValue(definition, message)) continue;
    std::string value = ValueOf(definition, message);
    given.push_back({std::move(definition), std::move(value)});
  }
  return given;
}

}  // namespace partita
