// The --config file: the flat part of TOML. A line is `key = value`, `# comment` or empty; a value is a number, true,
// false or a string: "..." with the escapes \" \\ \n \t, or '...' without escapes. A file whose name ends in .json is
// an object of flags, or a report, which has one. Both are UTF-8 and have no key twice.
#ifndef PARTITA_RUN_SPEC_CONFIG_FILE_H_
#define PARTITA_RUN_SPEC_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct ConfigEntry {
  int line = 0;  // from 1; 0: of JSON
  std::string key;
  std::string value;    // without quotes
  bool is_text = true;  // false: a JSON number, true or false
};

struct Config {
  std::vector<ConfigEntry> entries;
  bool is_report = false;
  std::string graph, graph_hash;  // of a report; empty: none
};

// kInvalidArgument names the line.
absl::StatusOr<Config> ParseConfigFile(const std::string& text);

// The flags of a JSON object {"epochs": 3, ...}, or of the object "flags" of a report (proto/report.proto).
absl::StatusOr<Config> ParseJsonConfig(const std::string& text);

// The value as it is to be written: quoted. kInvalidArgument: it is not UTF-8.
absl::StatusOr<std::string> QuoteConfigValue(const std::string& value);

}  // namespace partita

#endif  // PARTITA_RUN_SPEC_CONFIG_FILE_H_
