#include "tools/commands/launch/fewer_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/commands/input/chosen_strategy.h"
#include "tools/program/exit_code.h"

namespace partita {

absl::Status CheckElastic(const std::string& name, const Flags& command) {
  if (!command.Has("strategy")) return FlagError("flag --elastic: {} takes no number of ranks", name);
  if (!command.IsSet("strategy")) return absl::OkStatus();
  return FlagError("flag --elastic: the strategy of {} is for one number of ranks; give --dp and --mp, or --search",
                   command.Text("strategy"));
}

std::vector<std::string> CommandFor(int64_t ranks, const std::string& name, const Flags& command) {
  std::map<std::string, std::string> values = command.GivenValues();
  values.erase("config");  // its flags are among them
  for (const char* size : {"ranks", "dp", "mp"}) values.erase(size);
  if (Searches(command)) {
    values["ranks"] = fmt::to_string(ranks);
  } else {
    int64_t model = std::min(command.Int("mp"), ranks);
    while (ranks % model != 0) --model;
    values["dp"] = fmt::to_string(ranks / model);
    values["mp"] = fmt::to_string(model);
  }
  std::vector<std::string> line = {name};
  for (const auto& [flag, value] : values) line.push_back(fmt::format("--{}={}", flag, value));
  line.insert(line.end(), command.arguments().begin(), command.arguments().end());
  return line;
}

}  // namespace partita
