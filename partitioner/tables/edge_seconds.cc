#include "partitioner/tables/edge_seconds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/value/dtype.h"

namespace partita {
namespace {

// One dimension of the blocks of all ranks, and how much of each block two such have in common. There are few: what
// splits a dimension is a few axes.
class DimensionBlocks {
 public:
  using Blocks = std::vector<std::pair<int64_t, int64_t>>;  // by rank: [begin, end)

  int Add(Blocks blocks) {
    const auto [known, is_new] = places_.try_emplace(blocks, static_cast<int>(all_.size()));
    if (is_new) all_.push_back(std::move(blocks));
    return known->second;
  }

  void FindCommon() {
    for (const Blocks& a : all_) {
      for (const Blocks& b : all_) {
        std::vector<double> sizes;
        for (size_t r = 0; r < a.size(); ++r) {
          const int64_t begin = std::max(a[r].first, b[r].first), end = std::min(a[r].second, b[r].second);
          sizes.push_back(static_cast<double>(std::max<int64_t>(end - begin, 0)));
        }
        common_.push_back(std::move(sizes));
      }
    }
  }

  const double* Common(int a, int b) const { return common_[static_cast<size_t>(a) * all_.size() + b].data(); }

 private:
  std::map<Blocks, int> places_;
  std::vector<Blocks> all_;
  std::vector<std::vector<double>> common_;
};

// What is known of an end before it meets the other.
struct End {
  std::vector<int> blocks;      // by dimension: its place in DimensionBlocks
  std::vector<double> volumes;  // by rank
  std::vector<int> axes;        // by axis: the dimension that it splits; -1: none
  uint32_t whole = 0;           // axes over which every rank holds the same
  uint32_t idle = 0;            // axes that split nothing of the layer: its ranks do the same
  uint32_t sums = 0;            // axes over which the value is a sum
};

class Edge {
 public:
  Edge(const TensorType& type, const Mesh& mesh, bool back, MoveSeconds& moves)
      : type_(type), mesh_(mesh), back_(back), moves_(moves), ranks_(mesh.Ranks()), dimensions_(type.shape.size()) {}

  std::vector<double> Run(const std::vector<EdgeEnd>& from, const std::vector<EdgeEnd>& to) {
    std::vector<End> rows, columns;
    for (const EdgeEnd& end : from) rows.push_back(Look(end));
    for (const EdgeEnd& end : to) columns.push_back(Look(end));
    for (DimensionBlocks& dimension : dimensions_) dimension.FindCommon();
    std::vector<double> seconds;
    seconds.reserve(rows.size() * columns.size());
    for (const End& row : rows) {
      for (const End& column : columns) seconds.push_back(SecondsOf(row, column));
    }
    return seconds;
  }

 private:
  End Look(const EdgeEnd& given) {
    End end;
    Layout held = given.layout;  // sums are added up first, to be whole on every rank
    for (size_t a = 0; a < held.size(); ++a) {
      if (held[a].partial()) end.sums |= 1U << a;
      if (!held[a].split()) held[a] = AxisLayout::Replicate();
      if (held[a].replicated()) end.whole |= 1U << a;
      if (!given.choice.empty() && given.choice[a] == Cut::kWhole) end.idle |= 1U << a;
      end.axes.push_back(held[a].split() ? held[a].dimension : -1);
    }
    AddBlocks(held, end);
    return end;
  }

  void AddBlocks(const Layout& layout, End& end) {
    std::vector<DimensionBlocks::Blocks> blocks(type_.shape.size());
    for (const int rank : ranks_) {
      const std::optional<Box> box = LocalBox(layout, type_.shape, mesh_, rank);
      double volume = 1;
      for (size_t d = 0; d < blocks.size(); ++d) {
        blocks[d].emplace_back(box->offset[d], box->offset[d] + box->size[d]);
        volume *= static_cast<double>(box->size[d]);
      }
      end.volumes.push_back(volume);
    }
    for (size_t d = 0; d < blocks.size(); ++d) end.blocks.push_back(dimensions_[d].Add(std::move(blocks[d])));
  }

  // Of the rank that misses the most: elements of `to` that it does not hold, and of `from` that it does not read.
  std::pair<double, double> Missing(const End& from, const End& to) const {
    std::vector<const double*> common;
    for (size_t d = 0; d < dimensions_.size(); ++d)
      common.push_back(dimensions_[d].Common(from.blocks[d], to.blocks[d]));
    double forward = 0, back = 0;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      double both = 1;
      for (const double* const sizes : common) both *= sizes[r];
      forward = std::max(forward, to.volumes[r] - both);
      back = std::max(back, from.volumes[r] - both);
    }
    return {forward, back};
  }

  double Message(uint32_t axes, double elements) {
    return elements > 0 ? moves_.LinkOver(axes).SecondsOf(elements * SizeOf(type_.dtype)) : 0;
  }

  double Collective(CollectiveKind kind, uint32_t axes, double elements) {
    return axes == 0 ? 0 : moves_.OfCollective(kind, axes, elements * SizeOf(type_.dtype));
  }

  double SecondsOf(const End& from, const End& to) {
    uint32_t differ = 0, gathers = 0, slices = 0;  // axes: of those that differ, where parts become whole; the reverse
    for (size_t a = 0; a < from.axes.size(); ++a) {
      if (from.axes[a] == to.axes[a]) continue;
      differ |= 1U << a;
      if (to.axes[a] < 0) gathers |= 1U << a;
      if (from.axes[a] < 0) slices |= 1U << a;
    }
    const bool collective = differ == (gathers | slices);  // else parts become other parts, by messages
    const auto [missing, unread] = Missing(from, to);
    double seconds = Collective(CollectiveKind::kAllReduce, from.sums & ~slices, from.volumes[0]) +
                     Collective(CollectiveKind::kReduceScatter, from.sums & slices, from.volumes[0]);
    if (missing > 0) {
      seconds += collective ? Collective(CollectiveKind::kAllGather, gathers, to.volumes[0]) : Message(differ, missing);
    }
    if (!back_) return seconds;
    // Over idle axes all ranks that read it have its whole gradient: nobody has to give it.
    const bool gives = (differ & ~to.idle) != 0;
    if (collective) {
      if (missing > 0) seconds += Collective(CollectiveKind::kReduceScatter, gathers & ~to.idle, to.volumes[0]);
      if (unread > 0) seconds += Collective(CollectiveKind::kAllGather, slices, from.volumes[0]);
    } else {
      seconds += Message(differ, std::max(gives ? missing : 0, unread));
    }
    return seconds + Collective(CollectiveKind::kAllReduce, from.whole & to.whole & ~to.idle, to.volumes[0]);
  }

  const TensorType& type_;
  const Mesh& mesh_;
  const bool back_;
  MoveSeconds& moves_;
  const std::vector<int> ranks_;
  std::vector<DimensionBlocks> dimensions_;
};

}  // namespace

std::vector<double> EdgeSeconds(const TensorType& type, const std::vector<EdgeEnd>& from,
                                const std::vector<EdgeEnd>& to, bool back, const Mesh& mesh, MoveSeconds& moves) {
  return Edge(type, mesh, back, moves).Run(from, to);
}

}  // namespace partita
