#include "partitioner/choose/candidate.h"

namespace partita {

std::vector<SearchKind> SearchesWithin(SearchKind search) {
  if (search == SearchKind::kLayerwise) return {SearchKind::kGrid, SearchKind::kGroups};
  if (search == SearchKind::kGrid) return {SearchKind::kGroups};
  return {};
}

std::optional<SearchKind> FindSearch(const std::string& name) {
  for (const SearchKind search : kSearches) {
    if (name == Name(search)) return search;
  }
  return std::nullopt;
}

}  // namespace partita
