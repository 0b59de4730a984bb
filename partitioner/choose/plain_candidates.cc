#include "partitioner/choose/plain_candidates.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "partitioner/data_model_strategy.h"

namespace partita {

std::vector<Candidate> PlainCandidates(const Graph& forward, int ranks, SearchKind search) {
  DataModelOptions of_groups;
  of_groups.convolutions = LayerSplit::kSamples;
  std::vector<Candidate> candidates;
  const auto add = [&](int model, const DataModelOptions& options, const char* flag) {
    absl::StatusOr<Strategy> strategy = DataModelStrategy(forward, ranks / model, model, options);
    if (!strategy.ok()) return;
    const std::string flags = fmt::format("--dp={} --mp={}{}", ranks / model, model, flag);
    candidates.push_back({search, flags, *std::move(strategy), std::nullopt});
  };
  for (int model = 1; model <= ranks; ++model) {
    if (ranks % model != 0) continue;
    add(model, {}, "");
    if (model > 1) add(model, of_groups, " --convolutions=samples");
  }
  return candidates;
}

}  // namespace partita
