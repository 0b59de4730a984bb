#include "partitioner/explain/arrivals.h"

#include <algorithm>
#include <variant>

namespace partita {

Arrivals::Arrivals(const Program& program, const SimulatedStep& step) : step_(step), groups_(program) {
  for (const RankTimeline& timeline : step.timelines) {
    Calls& calls = calls_.emplace_back();
    for (size_t l = 0; l < timeline.spans.size(); ++l) {
      const auto* const call = std::get_if<CollectiveLaunch>(&timeline.spans[l].launch->work);
      if (call == nullptr) continue;
      std::vector<int>& of_key = calls.by_key[groups_.KeyOf(call->group)];
      calls.which[static_cast<int>(l)] = of_key.size();
      of_key.push_back(static_cast<int>(l));
    }
  }
  for (const CommunicationGroup& group : program.groups) {
    std::vector<int>& members = members_.emplace_back();
    for (const int rank : group.ranks) members.push_back(step.of_rank[rank]);
    std::ranges::sort(members);
    members.erase(std::unique(members.begin(), members.end()), members.end());
  }
}

LaunchPlace Arrivals::LastOf(const LaunchPlace& collective) const {
  const int key = groups_.KeyOf(std::get<CollectiveLaunch>(span(collective).launch->work).group);
  const size_t which = calls_[collective.timeline].which.at(collective.launch);
  // Alike ranks may share a schedule, which names the group of the first of them.
  const int group = groups_.GroupOf(key, step_.timelines[collective.timeline].rank);
  LaunchPlace last = collective;
  for (const int timeline : members_[group]) {
    const LaunchPlace same{timeline, calls_[timeline].by_key.at(key)[which]};
    if (span(same).begin > span(last).begin) last = same;
  }
  return last;
}

}  // namespace partita
