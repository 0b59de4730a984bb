// The --config file: the flat part of TOML. A line is `key = value`, `# comment` or empty; a value is a number, true,
// false or a string in double quotes with the escapes \" \\ \n \t. A file whose name ends in .json is an object of
// flags, or a report, which has one.
#ifndef PARTITA_TOOLS_PROGRAM_CONFIG_FILE_H_
#define PARTITA_TOOLS_PROGRAM_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct ConfigEntry {
  int line = 0;  // from 1; 0: of JSON
  std::string key;
  std::string value;  // without quotes
};

// kInvalidArgument names the line.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigFile(const std::string& text);

// The flags of a JSON object {"epochs": 3, ...}, or of the object "flags" of a report (proto/report.proto), whose
// "graph" is the command's argument.
struct JsonConfig {
  std::vector<ConfigEntry> entries;
  std::string graph;  // empty: none
};
absl::StatusOr<JsonConfig> ParseJsonConfig(const std::string& text);

// The value as it is to be written: quoted.
std::string QuoteConfigValue(const std::string& value);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_CONFIG_FILE_H_
