#include "partitioner/choose/candidate.h"

namespace partita {

const char* Name(SearchKind search) {
  switch (search) {
    case SearchKind::kData:
      return "data";
    case SearchKind::kGrid:
      return "grid";
    case SearchKind::kGroups:
      return "groups";
    case SearchKind::kPlacement:
      return "placement";
    case SearchKind::kPipeline:
      return "pipeline";
    case SearchKind::kLayerwise:
      break;
  }
  return "layerwise";
}

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
