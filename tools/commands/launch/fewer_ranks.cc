#include "tools/commands/launch/fewer_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/plan/chosen_strategy.h"
#include "tools/program/exit_code.h"
#include "tools/program/flags.h"

namespace partita {

absl::Status CheckElastic(const RunSpec& command) {
  if (!command.split().has_strategy()) return absl::OkStatus();
  return FlagError("flag --elastic: the strategy of {} is for one number of ranks; give --dp and --mp, or --search",
                   command.split().strategy());
}

std::vector<std::string> CommandFor(int64_t ranks, const std::string& name, const RunSpec& command) {
  RunSpec changed = command;
  SplitSpec& split = *changed.mutable_split();
  split.clear_ranks();
  split.clear_dp();
  split.clear_mp();
  if (Searches(command)) {
    split.set_ranks(ranks);
  } else {
    int64_t model = std::min(command.split().mp(), ranks);
    while (ranks % model != 0) --model;
    split.set_dp(ranks / model);
    split.set_mp(model);
  }
  std::vector<std::string> line = {name};
  for (const auto& [flag, value] : GivenFlags(changed)) line.push_back(fmt::format("--{}={}", flag.name, value));
  if (command.model().has_graph()) line.push_back(command.model().graph());
  return line;
}

}  // namespace partita
