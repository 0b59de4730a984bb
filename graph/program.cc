#include "graph/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita {

int Program::GroupOf(const std::vector<int>& axes, int rank) const {
  for (size_t g = 0; g < groups.size(); ++g) {
    const CommunicationGroup& group = groups[g];
    if (group.axes == axes && std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end()) {
      return static_cast<int>(g);
    }
  }
  return -1;
}

std::string ToString(const CommunicationGroup& group, const Mesh& mesh) {
  std::string name;
  for (int axis : group.axes) name += fmt::format("{}{}", name.empty() ? "" : ",", mesh.axes[axis].name);
  return fmt::format("{}{{{}}}", name, fmt::join(group.ranks, ","));
}

}  // namespace partita
