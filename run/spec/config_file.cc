#include "run/spec/config_file.h"

#include <google/protobuf/stubs/common.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kReportVersion = 1;
constexpr char kSpace[] = " \t\r";
constexpr char kKey[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

bool IsUtf8(const std::string& text) {
  return google::protobuf::internal::IsStructurallyValidUTF8(text.data(), static_cast<int>(text.size()));
}

// What is left of a line after `from` must be blank or a comment.
absl::Status CheckRest(const std::string& line, size_t from) {
  const size_t next = line.find_first_not_of(kSpace, from);
  if (next == std::string::npos || line[next] == '#') return absl::OkStatus();
  return InvalidArgument("{} follows the value; nothing or a comment may", Quoted(line.substr(next)));
}

// '...': without escapes.
absl::StatusOr<std::string> ReadLiteral(const std::string& line, size_t quote) {
  const size_t end = line.find('\'', quote + 1);
  if (end == std::string::npos) return InvalidArgument("a string is not closed by \"'\"");
  RETURN_IF_ERROR(CheckRest(line, end + 1));
  return line.substr(quote + 1, end - quote - 1);
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
      return InvalidArgument("a string has the unknown escape {}; allowed are \\\" \\\\ \\n \\t, and strings in '...'",
                             Quoted(line.substr(i - 1, 2)));
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
  if (line[value] == '"' || line[value] == '\'') {
    ASSIGN_OR_RETURN(entry.value, line[value] == '"' ? ReadString(line, value) : ReadLiteral(line, value));
    return entry;
  }
  const size_t value_end = std::min(line.find_first_of(" \t\r#", value), line.size());
  entry.value = line.substr(value, value_end - value);
  if (entry.value.find_first_of("[]{}\"'") != std::string::npos) {
    return InvalidArgument("key {} is {}; expected a number, true, false or a \"string\"", Quoted(entry.key),
                           Quoted(entry.value));
  }
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

std::string Printed(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// "": absent.
absl::StatusOr<std::string> TextIn(const Json& report, const std::string& key) {
  const auto found = report.find(key);
  if (found == report.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return InvalidArgument("key {} is {}; expected a string", Quoted(key), Printable(Printed(*found), 80));
}

// Refuses an object that has a key twice: readers differ in which of the values they take.
absl::StatusOr<Json> ParseJson(const std::string& text) {
  std::vector<std::set<std::string>> objects;  // those that are open: their keys so far
  std::optional<std::string> twice;
  const auto see = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) objects.emplace_back();
    if (event == Json::parse_event_t::object_end) objects.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto key = parsed.get<std::string>();
    if (!objects.back().insert(key).second && !twice) twice = key;
    return true;
  };
  try {
    Json json = Json::parse(text, see);
    if (twice) return InvalidArgument("key {} is given twice; once is allowed", Quoted(*twice));
    return json;
  } catch (const Json::exception& error) {
    const std::string what = error.what();  // "[json.exception...] parse error at line 3, column 5: ..."
    const size_t place = what.find("line ");
    return InvalidArgument("is not JSON: {}", Printable(what.substr(place == std::string::npos ? 0 : place), 240));
  }
}

}  // namespace

absl::StatusOr<Config> ParseConfigFile(const std::string& text) {
  Config config;
  std::set<std::string> keys;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!IsUtf8(line)) return InvalidArgument("line {}: found bytes that are not UTF-8", number);
    const size_t first = line.find_first_not_of(kSpace);
    if (first == std::string::npos || line[first] == '#') continue;
    absl::StatusOr<ConfigEntry> entry = ReadLine(line, first);
    if (!entry.ok()) return WithContext(fmt::format("line {}", number), entry.status());
    if (!keys.insert(entry->key).second) {
      return InvalidArgument("line {}: key {} is given twice; once is allowed", number, Quoted(entry->key));
    }
    entry->line = number;
    config.entries.push_back(*std::move(entry));
  }
  return config;
}

absl::StatusOr<std::string> QuoteConfigValue(const std::string& value) {
  if (!IsUtf8(value))
    return InvalidArgument("the value is {}, which is not UTF-8, as a file of flags is", Quoted(value));
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

absl::StatusOr<Config> ParseJsonConfig(const std::string& text) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object()) return InvalidArgument("expected a JSON object of flags, or a report of a run");
  Config config;
  config.is_report = json.contains("flags");
  const Json& flags = config.is_report ? json["flags"] : json;
  if (config.is_report) {
    if (!flags.is_object()) return InvalidArgument("key 'flags' is {}; expected an object", flags.type_name());
    const Json version = json.value("schema_version", Json(kReportVersion));
    if (version != kReportVersion) {
      return InvalidArgument("key 'schema_version' is {}; expected {}", Printable(Printed(version), 80),
                             kReportVersion);
    }
    ASSIGN_OR_RETURN(config.graph, TextIn(json, "graph"));
    ASSIGN_OR_RETURN(config.graph_hash, TextIn(json, "graph_hash"));
  }
  for (const auto& [name, value] : flags.items()) {
    ASSIGN_OR_RETURN(std::string written, ValueOf(name, value));
    config.entries.push_back({0, name, std::move(written), value.is_string()});
  }
  return config;
}

}  // namespace partita
