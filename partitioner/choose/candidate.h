// A candidate: a strategy that a search proposed, and the result of compiling it.
#ifndef PARTITA_PARTITIONER_CHOOSE_CANDIDATE_H_
#define PARTITA_PARTITIONER_CHOOSE_CANDIDATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/derive/strategy.h"
#include "partitioner/choose/objective.h"
#include "partitioner/search/answer.h"

namespace partita {

// In the order in which equals are preferred: the plainest first.
enum class SearchKind : uint8_t { kData, kGrid, kGroups, kPlacement, kPipeline, kLayerwise };
inline constexpr SearchKind kSearches[] = {SearchKind::kData,      SearchKind::kGrid,     SearchKind::kGroups,
                                           SearchKind::kPlacement, SearchKind::kPipeline, SearchKind::kLayerwise};
constexpr const char* Name(SearchKind search) {
  constexpr const char* kNames[] = {"data", "grid", "groups", "placement", "pipeline", "layerwise"};
  return kNames[static_cast<int>(search)];
}
// Those whose plans are all among the plans of a search: of kLayerwise grids and groups, of kGrid groups.
std::vector<SearchKind> SearchesWithin(SearchKind search);
std::optional<SearchKind> FindSearch(const std::string& name);

struct Candidate {
  SearchKind search = SearchKind::kData;
  std::string plan;  // "data:2 model:2", for display
  Strategy strategy;
  std::optional<Judgement> judgement;  // of the search on its tables; none: there was nothing to search
  int idle_ranks = 0;                  // of the mesh, which compute nothing
};

struct Finalist {
  Candidate candidate;
  absl::Status status;       // why it cannot be run: it does not fit, or does not compile
  double seconds = 0;        // of a step, as predicted of what was compiled; 0: nothing was
  int64_t memory_bytes = 0;  // of the fullest rank
  double lacking_bytes = 0;  // of these, what the rank may not have
  Setting setting = {};      // what it was looked for
  // The objective by which it is compared with others, and its value (ValueOf).
  ObjectiveKind objective = ObjectiveKind::kStep;
  double value = 0;
  double compute_seconds = 0;  // of the step, on the rank that computes longest
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_CANDIDATE_H_
