// What searches propose, and what became of it when it was compiled.
#ifndef PARTITA_PARTITIONER_CHOOSE_CANDIDATE_H_
#define PARTITA_PARTITIONER_CHOOSE_CANDIDATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/derive/strategy.h"
#include "partitioner/search/answer.h"

namespace partita {

// In the order in which equals are preferred: the plainest first.
enum class SearchKind : uint8_t { kData, kGrid, kGroups, kPlacement, kPipeline, kLayerwise };
inline constexpr SearchKind kSearches[] = {SearchKind::kData,      SearchKind::kGrid,     SearchKind::kGroups,
                                           SearchKind::kPlacement, SearchKind::kPipeline, SearchKind::kLayerwise};
const char* Name(SearchKind search);
std::optional<SearchKind> FindSearch(const std::string& name);

struct Candidate {
  SearchKind search = SearchKind::kData;
  std::string plan;  // "data:2 model:2", for people
  Strategy strategy;
  bool searched = false;           // else there was nothing to search
  double table_seconds = 0;        // by the search's tables
  double lower_bound = 0;          // of these: no plan of the kind is faster
  std::vector<Rejected> rejected;  // what lies next to it

  double Gap() const { return table_seconds > lower_bound ? (table_seconds - lower_bound) / lower_bound : 0; }
};

struct Finalist {
  Candidate candidate;
  absl::Status status;       // why it cannot be run: it does not fit, or does not compile
  double seconds = 0;        // of a step, as predicted of what was compiled
  int64_t memory_bytes = 0;  // of the fullest rank
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_CANDIDATE_H_
