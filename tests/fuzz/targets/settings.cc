// What a user sets: a --config file, a command line.
#include <sstream>

#include "proto/run.pb.h"
#include "run/spec/config_file.h"
#include "tests/fuzz/targets/promise.h"
#include "tests/fuzz/targets/targets.h"
#include "tools/program/exit_code.h"
#include "tools/program/flags.h"

namespace partita {
namespace {

// A word on each line.
std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

// A value that was read is the same when it is quoted and read again.
void FeedConfigFile(const std::string& bytes) {
  const absl::StatusOr<Config> config = ParseConfigFile(bytes);
  if (!config.ok()) return PromiseRefusal(config.status());
  std::string quoted;
  for (const ConfigEntry& entry : config->entries) quoted += entry.key + " = " + *QuoteConfigValue(entry.value) + "\n";
  const absl::StatusOr<Config> again = ParseConfigFile(quoted);
  Promise(again.ok() && again->entries.size() == config->entries.size(), "what was quoted is refused: " + quoted);
  for (size_t i = 0; i < config->entries.size(); ++i) {
    const ConfigEntry &first = config->entries[i], &second = again->entries[i];
    Promise(second.key == first.key && second.value == first.value, "another value");
  }
}

void FeedCommandLine(const std::string& bytes) {
  static const std::vector<FlagDefinition> flags = FlagsOf(*RunSpec::descriptor());
  const FlagEnvironment environment = {.get = [](const char*) { return nullptr; },
                                       .read = [](const std::string&) { return absl::NotFoundError("no such file"); }};
  RunSpec spec;
  const absl::StatusOr<std::vector<std::string>> rest = ParseFlags(flags, flags, Lines(bytes), environment, spec);
  if (!rest.ok()) return PromiseRefusal(rest.status());
  const absl::StatusOr<std::string> dumped = ToConfig(flags, spec);
  if (!dumped.ok()) return PromiseRefusal(dumped.status());
  const absl::Status read = ParseConfigFile(*dumped).status();
  Promise(read.ok(), "flags that cannot be read again: " + read.ToString());
}

}  // namespace partita
