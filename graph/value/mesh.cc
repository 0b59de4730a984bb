#include "graph/value/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>

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

int Mesh::Place(int rank) const {
  if (ranks.empty()) return rank < size() ? rank : -1;
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

std::vector<int> Mesh::Ranks() const {
  if (!ranks.empty()) return ranks;
  std::vector<int> all(size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> Mesh::Coordinates(int rank) const {
  std::vector<int> coordinates(axes.size());
  int place = Place(rank);
  for (size_t a = axes.size(); a-- > 0;) {
    coordinates[a] = place % axes[a].size;
    place /= axes[a].size;
  }
  return coordinates;
}

int Mesh::Rank(const std::vector<int>& coordinates) const {
  int place = 0;
  for (size_t a = 0; a < axes.size(); ++a) place = place * axes[a].size + coordinates[a];
  return RankAt(place);
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
  const int place = Place(rank);
  for (int axis : group_axes) {
    int inner = 1;  // ranks that agree on this axis and those before it
    for (size_t a = axis + 1; a < axes.size(); ++a) inner *= axes[a].size;
    if (place / inner % axes[axis].size != 0) return false;
  }
  return true;
}

std::string Mesh::ToString() const {
  std::string text;
  for (const MeshAxis& axis : axes) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", axis.name, axis.size);
  if (!ranks.empty()) text += fmt::format(" {{{}}}", fmt::join(ranks, ","));
  return text;
}

AxisPlace FindAxis(const std::vector<Mesh>& meshes, const std::string& name) {
  for (size_t m = 0; m < meshes.size(); ++m) {
    const int axis = meshes[m].AxisIndex(name);
    if (axis >= 0) return {static_cast<int>(m), axis};
  }
  return {};
}

std::string ToString(const std::vector<Mesh>& meshes) {
  std::string text;
  for (const Mesh& mesh : meshes) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", mesh.name, mesh.name.empty() ? "" : " ", mesh.ToString());
  }
  return text;
}

std::vector<int> RanksOfBoth(const Mesh& a, const Mesh& b) {
  std::vector<int> left = a.Ranks(), right = b.Ranks(), both;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both;
}

}  // namespace partita
