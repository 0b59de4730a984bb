#include "partitioner/tables/edge_blocks.h"

#include <algorithm>

#include "graph/value/held_along.h"

namespace partita {

EdgeBlocks::EdgeBlocks(const Shape& shape, const Mesh& mesh)
    : shape_(shape), mesh_(mesh), dimensions_(shape.size()), ranks_apart_(size_t{1} << mesh.axes.size()) {
  for (const int rank : mesh.Ranks()) {
    const std::vector<int> at = mesh.Coordinates(rank);
    coordinates_.emplace_back(at.begin(), at.end());
  }
}

int EdgeBlocks::WayOf(const Layout& layout) {
  std::vector<int> cuts;
  cuts.reserve(shape_.size());
  for (size_t d = 0; d < shape_.size(); ++d) cuts.push_back(CutsOf(layout, d));
  const auto [known, is_new] = way_of_cuts_.try_emplace(cuts, static_cast<int>(ways_.size()));
  if (is_new) AddWay(cuts);
  return known->second;
}

int EdgeBlocks::CutsOf(const Layout& layout, size_t dimension) {
  Cuts cuts;
  for (size_t a = 0; a < layout.size(); ++a) {
    if (layout[a].split() && layout[a].dimension == static_cast<int>(dimension)) cuts.axes |= 1U << a;
  }
  std::vector<Cuts>& known = dimensions_[dimension].cuts;
  const auto same = std::ranges::find_if(known, [&](const Cuts& other) {
    return other.axes == cuts.axes &&
           std::ranges::all_of(other.splits, [&](const auto& split) { return layout[split.first] == split.second; });
  });
  if (same != known.end()) return static_cast<int>(same - known.begin());
  for (size_t a = 0; a < layout.size(); ++a) {
    if ((cuts.axes >> a & 1) != 0) cuts.splits.emplace_back(a, layout[a]);
  }
  for (const std::vector<int64_t>& at : coordinates_)
    cuts.blocks.push_back(HeldAlong(layout, dimension, shape_[dimension], mesh_, at));
  known.push_back(std::move(cuts));
  return static_cast<int>(known.size()) - 1;
}

void EdgeBlocks::AddWay(const std::vector<int>& cuts) {
  Way way{cuts, {}, (1U << mesh_.axes.size()) - 1, std::vector<double>(coordinates_.size(), 1)};
  for (size_t d = 0; d < cuts.size(); ++d) {
    const Cuts& cut = dimensions_[d].cuts[cuts[d]];
    way.axes.push_back(cut.axes);
    way.whole &= ~cut.axes;
    for (size_t r = 0; r < cut.blocks.size(); ++r) way.elements[r] *= static_cast<double>(cut.blocks[r].size());
  }
  ways_.push_back(std::move(way));
}

void EdgeBlocks::FindCommon() {
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    Dimension& dimension = dimensions_[d];
    for (const Cuts& a : dimension.cuts) {
      for (const Cuts& b : dimension.cuts) {
        dimension.even.push_back(EvenAxes(a, b, shape_[d]));
        for (size_t r = 0; r < a.blocks.size(); ++r)
          dimension.common.push_back(static_cast<double>(Overlap(a.blocks[r], b.blocks[r]).size()));
      }
    }
  }
}

// The outermost axes, where both cut equal blocks along them: what is inside is the same in all of these.
uint32_t EdgeBlocks::EvenAxes(const Cuts& a, const Cuts& b, int64_t size) const {
  uint32_t even = 0;
  for (size_t i = 0; i < std::min(a.splits.size(), b.splits.size()); ++i) {
    const auto& [axis, split] = a.splits[i];
    const int blocks = mesh_.axes[axis].size;
    if (a.splits[i] != b.splits[i] || !split.cuts.empty() || split.windows || size % blocks != 0) break;
    even |= 1U << axis;
    size /= blocks;
  }
  return even;
}

uint32_t EdgeBlocks::AxesAlike(int a, int b) const {
  const Way &one = ways_[a], &other = ways_[b];
  uint32_t alike = one.whole & other.whole;
  for (size_t d = 0; d < one.axes.size(); ++d) alike |= one.axes[d] & other.axes[d];
  return alike;
}

// The first of all that differ on these axes alone.
const std::vector<int>& EdgeBlocks::RanksApart(uint32_t alike) {
  std::vector<int>& ranks = ranks_apart_[alike];
  if (!ranks.empty()) return ranks;
  for (size_t r = 0; r < coordinates_.size(); ++r) {
    bool first = true;
    for (size_t a = 0; a < mesh_.axes.size(); ++a) first = first && ((alike >> a & 1) == 0 || coordinates_[r][a] == 0);
    if (first) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

MissingElements EdgeBlocks::Missing(int from, int to) {
  const Way &held = ways_[from], &wanted = ways_[to];
  std::vector<const double*> common;  // by dimension, by rank
  common.reserve(dimensions_.size());
  uint32_t alike = held.whole & wanted.whole;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    const size_t pair = held.cuts[d] * dimensions_[d].cuts.size() + wanted.cuts[d];
    common.push_back(dimensions_[d].common.data() + pair * coordinates_.size());
    alike |= dimensions_[d].even[pair];
  }
  MissingElements missing;
  for (const int rank : RanksApart(alike)) {
    double both = 1;
    for (const double* const elements : common) both *= elements[rank];
    missing.forward = std::max(missing.forward, wanted.elements[rank] - both);
    missing.back = std::max(missing.back, held.elements[rank] - both);
  }
  return missing;
}

}  // namespace partita
