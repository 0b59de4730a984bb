#include "partitioner/choose/plain_candidates.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "partitioner/data_model_strategy.h"

namespace partita {

std::vector<Candidate> PlainCandidates(const Graph& forward, int ranks, SearchKind search) {
  std::vector<Candidate> candidates;
  const bool of_groups = search == SearchKind::kGroups, of_layers = search == SearchKind::kLayerwise;
  if (search != SearchKind::kGrid && !of_groups && !of_layers) return candidates;
  DataModelOptions options;
  if (of_groups) options.convolutions = LayerSplit::kSamples;
  for (int model = of_groups ? 2 : 1; model <= ranks; ++model) {
    if (ranks % model != 0 || (of_layers && model > 1)) continue;
    absl::StatusOr<Strategy> strategy = DataModelStrategy(forward, ranks / model, model, options);
    if (!strategy.ok()) continue;
    const std::string flags =
        fmt::format("--dp={} --mp={}{}", ranks / model, model, of_groups ? " --convolutions=samples" : "");
    candidates.push_back({search, flags, *std::move(strategy), std::nullopt});
  }
  return candidates;
}

}  // namespace partita
