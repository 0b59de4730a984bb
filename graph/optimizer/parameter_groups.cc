#include "graph/optimizer/parameter_groups.h"

#include <algorithm>
#include <set>

#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "graph/value/pattern.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// What stands behind the last slash of a name, or of a pattern.
std::string LastPart(const std::string& name) { return name.substr(name.find_last_of('/') + 1); }

// A pattern means many names: its end is compared with theirs.
absl::Status MatchesNone(const std::string& field, const std::string& pattern, const std::vector<std::string>& names) {
  std::set<std::string> ends;
  for (const std::string& name : names) ends.insert(LastPart(name));
  std::optional<std::string> nearest = NearestName(pattern, names);
  if (const auto end = NearestName(LastPart(pattern), {ends.begin(), ends.end()}); !nearest && end) {
    nearest = pattern.substr(0, pattern.size() - LastPart(pattern).size()) + *end;
  }
  return InvalidArgument("{} {} matches none of the {} names{}", field, Quoted(pattern), names.size(),
                         nearest ? fmt::format("; did you mean {}?", Quoted(*nearest)) : "");
}

// Whether each name matches.
absl::StatusOr<std::vector<bool>> Matching(const std::string& field, const std::string& pattern,
                                           const std::vector<std::string>& names, int64_t& comparisons) {
  std::vector<bool> matching;
  for (const std::string& name : names) matching.push_back(MatchesPattern(pattern, name, comparisons));
  if (comparisons < 0) {
    return InvalidArgument("{} {}: the patterns take more than {} comparisons; fewer are allowed", field,
                           Quoted(pattern), kMostComparisons);
  }
  if (std::ranges::find(matching, true) == matching.end()) return MatchesNone(field, pattern, names);
  return matching;
}

}  // namespace

double GradientScale(const ParameterGroup& group) {
  return group.attributes.Has(kGradientScale) ? group.attributes.Float(kGradientScale) : 1;
}

absl::StatusOr<std::vector<int>> GroupsOf(const Optimizer& optimizer, const std::vector<std::string>& parameters) {
  std::vector<int> groups(parameters.size(), -1);
  int64_t comparisons = kMostComparisons;
  for (size_t g = 0; g < optimizer.groups.size(); ++g) {
    ASSIGN_OR_RETURN(const std::vector<bool> matching,
                     Matching("optimizer.groups", optimizer.groups[g].pattern, parameters, comparisons));
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (matching[p] && groups[p] < 0) groups[p] = static_cast<int>(g);
    }
  }
  return groups;
}

absl::StatusOr<std::vector<bool>> MatchingNames(const std::vector<std::string>& patterns,
                                                const std::vector<std::string>& names) {
  std::vector<bool> any(names.size(), false);
  int64_t comparisons = kMostComparisons;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(const std::vector<bool> matching, Matching("pattern", pattern, names, comparisons));
    for (size_t i = 0; i < names.size(); ++i) any[i] = any[i] || matching[i];
  }
  return any;
}

absl::StatusOr<std::vector<bool>> Averaged(const Optimizer& optimizer, const std::vector<std::string>& names) {
  if (!optimizer.average) return std::vector<bool>(names.size(), false);
  int64_t comparisons = kMostComparisons;
  return Matching("optimizer.average.pattern", optimizer.average->pattern, names, comparisons);
}

}  // namespace partita
