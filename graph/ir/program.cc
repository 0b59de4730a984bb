#include "graph/ir/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace partita {

int Program::GroupOf(const GroupKey& key, int rank) const {
  for (size_t g = 0; g < groups.size(); ++g) {
    const CommunicationGroup& group = groups[g];
    if (group.key == key && std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end()) {
      return static_cast<int>(g);
    }
  }
  return -1;
}

std::string ToString(const CommunicationGroup& group, const std::vector<Mesh>& meshes) {
  return fmt::format("{}{{{}}}", fmt::join(NamesOf(group.key, meshes), group.key.between() ? "~" : ","),
                     fmt::join(group.ranks, ","));
}

}  // namespace partita
