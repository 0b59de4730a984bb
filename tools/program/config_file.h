// The --config file: the flat part of TOML. A line is `key = value`, `# comment` or empty; a value is a number, true,
// false or a string in double quotes with the escapes \" \\ \n \t.
#ifndef PARTITA_TOOLS_PROGRAM_CONFIG_FILE_H_
#define PARTITA_TOOLS_PROGRAM_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct ConfigEntry {
  int line = 0;  // from 1
  std::string key;
  std::string value;  // without quotes
};

// kInvalidArgument names the line.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigFile(const std::string& text);

// The value as it is to be written: quoted.
std::string QuoteConfigValue(const std::string& value);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_CONFIG_FILE_H_
