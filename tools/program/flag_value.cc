#include "tools/program/flag_value.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/value/node_name.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

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
    case FlagType::kChoice:
      return std::find(flag.choices.begin(), flag.choices.end(), value) != flag.choices.end();
  }
  return false;
}

}  // namespace

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
      return "a text that is not empty";
    case FlagType::kPath:
    case FlagType::kFolder:
      return "a path";
    case FlagType::kChoice:
      return fmt::format("one of {}", fmt::join(flag.choices, ", "));
  }
  return "";
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

}  // namespace partita
