#include "tools/program/config_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSpace[] = " \t\r";
constexpr char kKey[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// What is left of a line after `from` must be blank or a comment.
absl::Status CheckRest(const std::string& line, size_t from) {
  const size_t next = line.find_first_not_of(kSpace, from);
  if (next == std::string::npos || line[next] == '#') return absl::OkStatus();
  return InvalidArgument("{} follows the value; nothing or a comment may", Quoted(line.substr(next)));
}

absl::StatusOr<std::string> ReadString(const std::string& line, size_t quote) {
  std::string value;
  for (size_t i = quote + 1; i < line.size(); ++i) {
    if (line[i] == '"') {
      RETURN_IF_ERROR(CheckRest(line, i + 1));
      return value;
    }
    if (line[i] != '\\') {
      value += line[i];
      continue;
    }
    const char escape = i + 1 < line.size() ? line[++i] : '\0';
    if (escape == 'n') {
      value += '\n';
    } else if (escape == 't') {
      value += '\t';
    } else if (escape == '"' || escape == '\\') {
      value += escape;
    } else {
      return InvalidArgument("a string has an unknown escape; \\\" \\\\ \\n \\t are allowed");
    }
  }
  return InvalidArgument("a string is not closed by '\"'");
}

absl::StatusOr<ConfigEntry> ReadLine(const std::string& line, size_t begin) {
  ConfigEntry entry;
  const size_t key_end = std::min(line.find_first_not_of(kKey, begin), line.size());
  entry.key = line.substr(begin, key_end - begin);
  const size_t equals = line.find_first_not_of(kSpace, key_end);
  if (entry.key.empty() || equals == std::string::npos || line[equals] != '=') {
    return InvalidArgument("the line is {}; key = value is needed", Quoted(line));
  }
  const size_t value = line.find_first_not_of(kSpace, equals + 1);
  if (value == std::string::npos || line[value] == '#') {
    return InvalidArgument("key {} has no value; a number, true, false or a \"string\" is needed", Quoted(entry.key));
  }
  if (line[value] == '"') {
    ASSIGN_OR_RETURN(entry.value, ReadString(line, value));
    return entry;
  }
  const size_t value_end = std::min(line.find_first_of(" \t\r#", value), line.size());
  entry.value = line.substr(value, value_end - value);
  RETURN_IF_ERROR(CheckRest(line, value_end));
  return entry;
}

// As a flag has it.
absl::StatusOr<std::string> ValueOf(const std::string& name, const Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (!value.is_number()) {
    return InvalidArgument("key {} is {}; expected a string, a number, true or false", Quoted(name), value.type_name());
  }
  const double number = value.get<double>();
  const bool whole = std::trunc(number) == number && std::abs(number) <= kExact;
  return whole ? fmt::to_string(static_cast<int64_t>(number)) : fmt::to_string(number);
}

}  // namespace

absl::StatusOr<std::vector<ConfigEntry>> ParseConfigFile(const std::string& text) {
  std::vector<ConfigEntry> entries;
  std::set<std::string> keys;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const size_t first = line.find_first_not_of(kSpace);
    if (first == std::string::npos || line[first] == '#') continue;
    absl::StatusOr<ConfigEntry> entry = ReadLine(line, first);
    if (!entry.ok()) return WithContext(fmt::format("line {}", number), entry.status());
    if (!keys.insert(entry->key).second) {
      return InvalidArgument("line {}: key {} is given twice; once is allowed", number, Quoted(entry->key));
    }
    entry->line = number;
    entries.push_back(*std::move(entry));
  }
  return entries;
}

std::string QuoteConfigValue(const std::string& value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

absl::StatusOr<JsonConfig> ParseJsonConfig(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("expected a JSON object of flags, or a report of a run");
  JsonConfig config;
  const auto flags = json.find("flags");
  const bool is_report = flags != json.end();
  const auto graph = json.find("graph");
  if (is_report && graph != json.end() && graph->is_string()) config.graph = graph->get<std::string>();
  if (is_report && !flags->is_object())
    return InvalidArgument("key 'flags' is {}; expected an object", flags->type_name());
  for (const auto& [name, value] : is_report ? flags->items() : json.items()) {
    ASSIGN_OR_RETURN(std::string written, ValueOf(name, value));
    config.entries.push_back({0, name, std::move(written)});
  }
  return config;
}

}  // namespace partita
