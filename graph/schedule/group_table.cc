#include "graph/schedule/group_table.h"

#include <map>

namespace partita {

GroupTable::GroupTable(const Program& program) {
  std::map<GroupKey, int> places;
  for (int g = 0; g < static_cast<int>(program.groups.size()); ++g) {
    const CommunicationGroup& group = program.groups[g];
    const auto [found, added] = places.try_emplace(group.key, keys());
    if (added) by_rank_.emplace_back(program.ranks(), -1);
    keys_.push_back(found->second);
    for (const int rank : group.ranks) by_rank_[found->second][rank] = g;
  }
}

}  // namespace partita
