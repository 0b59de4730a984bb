#include "graph/mesh.h"

#include <fmt/format.h>

namespace partita {

int Mesh::size() const {
  int ranks = 1;
  for (const MeshAxis& axis : axes) ranks *= axis.size;
  return ranks;
}

int Mesh::AxisIndex(const std::string& name) const {
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].name == name) return static_cast<int>(a);
  }
  return -1;
}

std::vector<int> Mesh::Coordinates(int rank) const {
  std::vector<int> coordinates(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    coordinates[a] = rank % axes[a].size;
    rank /= axes[a].size;
  }
  return coordinates;
}

int Mesh::Rank(const std::vector<int>& coordinates) const {
  int rank = 0;
  for (size_t a = 0; a < axes.size(); ++a) rank = rank * axes[a].size + coordinates[a];
  return rank;
}

std::vector<int> Mesh::Group(int rank, const std::vector<int>& group_axes) const {
  std::vector<int> coordinates = Coordinates(rank);
  int count = 1;
  for (int axis : group_axes) {
    coordinates[axis] = 0;
    count *= axes[axis].size;
  }
  std::vector<int> ranks;
  ranks.reserve(count);
  while (true) {
    ranks.push_back(Rank(coordinates));
    size_t i = group_axes.size();
    while (i-- > 0) {  // count up, the last axis fastest
      const int axis = group_axes[i];
      if (++coordinates[axis] < axes[axis].size) break;
      coordinates[axis] = 0;
      if (i == 0) return ranks;
    }
    if (group_axes.empty()) return ranks;
  }
}

bool Mesh::Leads(int rank, const std::vector<int>& group_axes) const {
  for (int axis : group_axes) {
    int inner = 1;  // ranks that agree on this axis and those before it
    for (size_t a = axis + 1; a < axes.size(); ++a) inner *= axes[a].size;
    if (rank / inner % axes[axis].size != 0) return false;
  }
  return true;
}

std::string Mesh::ToString() const {
  std::string text;
  for (const MeshAxis& axis : axes) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", axis.name, axis.size);
  return text;
}

}  // namespace partita
