#include "partitioner/tables/edge_seconds.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "graph/value/dtype.h"
#include "partitioner/tables/edge_blocks.h"

namespace partita {
namespace {

// What collectives of so many bytes take over each set of axes, once asked for.
class CollectiveTimes {
 public:
  CollectiveTimes(MoveSeconds& moves, size_t sets, double bytes) : moves_(moves), sets_(sets), bytes_(bytes) {}

  double Of(CollectiveKind kind, uint32_t axes) {
    if (axes == 0) return 0;
    std::vector<double>& known = seconds_[static_cast<size_t>(kind)];
    if (known.empty()) known.assign(sets_, -1);
    if (known[axes] < 0) known[axes] = moves_.OfCollective(kind, axes, bytes_);
    return known[axes];
  }

 private:
  MoveSeconds& moves_;
  const size_t sets_;
  const double bytes_;
  std::array<std::vector<double>, std::size(kCollectives)> seconds_;
};

// What is known of an end before it meets the other.
struct End {
  int way = 0;        // EdgeBlocks
  uint32_t idle = 0;  // as of EdgeEnd
  uint32_t open = 0;
  uint32_t sums = 0;  // axes over which the value is a sum; it is added up first, to be whole on every rank
  CollectiveTimes* collectives = nullptr;  // of what a rank holds
};

// The ends that differ, in the order of their ways, and which of them each of all is.
struct Ends {
  std::vector<End> distinct;
  std::vector<size_t> of_all;
};

class Edge {
 public:
  Edge(const TensorType& type, const Mesh& mesh, bool back, MoveSeconds& moves)
      : type_(type), mesh_(mesh), back_(back), moves_(moves), blocks_(type.shape, mesh) {}

  std::vector<double> Run(const std::vector<EdgeEnd>& from, const std::vector<EdgeEnd>& to) {
    Ends rows = Distinct(from), columns = Distinct(to);
    blocks_.FindCommon();
    for (Ends* const ends : {&rows, &columns}) {
      for (End& end : ends->distinct) end.collectives = &CollectivesOf(end);
    }
    const std::vector<double> seconds = SecondsOf(rows.distinct, columns.distinct);
    std::vector<double> all;
    all.reserve(from.size() * to.size());
    for (const size_t row : rows.of_all) {
      const double* const of_row = seconds.data() + row * columns.distinct.size();
      for (const size_t column : columns.of_all) all.push_back(of_row[column]);
    }
    return all;
  }

 private:
  Ends Distinct(const std::vector<EdgeEnd>& given) {
    using Key = std::array<uint32_t, 4>;
    std::map<Key, size_t> places;
    std::vector<Key> keys;
    for (const EdgeEnd& end : given) {
      const auto way = static_cast<uint32_t>(blocks_.WayOf(end.layout));
      keys.push_back({way, end.idle, end.open, SumsOf(end.layout)});
      places[keys.back()] = 0;
    }
    Ends result;
    for (auto& [key, place] : places) {
      place = result.distinct.size();
      result.distinct.push_back({static_cast<int>(key[0]), key[1], key[2], key[3]});
    }
    for (const Key& key : keys) result.of_all.push_back(places.at(key));
    return result;
  }

  static uint32_t SumsOf(const Layout& layout) {
    uint32_t sums = 0;
    for (size_t a = 0; a < layout.size(); ++a) sums |= layout[a].partial() ? 1U << a : 0;
    return sums;
  }

  CollectiveTimes& CollectivesOf(const End& end) {
    const double bytes = blocks_.FirstBlock(end.way) * SizeOf(type_.dtype);
    return collectives_.try_emplace(bytes, moves_, size_t{1} << mesh_.axes.size(), bytes).first->second;
  }

  std::vector<double> SecondsOf(const std::vector<End>& rows, const std::vector<End>& columns) {
    std::vector<double> seconds;
    seconds.reserve(rows.size() * columns.size());
    for (const End& row : rows) {
      MissingElements missing;
      int way = -1;  // of the column that they are of
      for (const End& column : columns) {
        if (column.way != way) missing = blocks_.Missing(row.way, column.way);
        way = column.way;
        seconds.push_back(SecondsOf(row, column, missing));
      }
    }
    return seconds;
  }

  // Packed before it travels, and unpacked.
  double Message(uint32_t axes, double elements) {
    if (elements == 0) return 0;
    return moves_.LinkOver(axes).SecondsOf(elements * SizeOf(type_.dtype)) + 2 * moves_.launch_seconds();
  }

  double SecondsOf(const End& from, const End& to, const MissingElements& missing) {
    // Axes: of those that differ, where parts become whole; the reverse.
    const uint32_t whole_before = blocks_.AxesWhole(from.way), whole_after = blocks_.AxesWhole(to.way);
    const uint32_t differ = ~blocks_.AxesAlike(from.way, to.way) & ((1U << mesh_.axes.size()) - 1);
    const uint32_t gathers = differ & whole_after, slices = differ & whole_before;
    const bool collective = differ == (gathers | slices);  // else parts become other parts, by messages
    double seconds = from.collectives->Of(CollectiveKind::kAllReduce, from.sums & ~slices) +
                     from.collectives->Of(CollectiveKind::kReduceScatter, from.sums & slices);
    if (missing.forward > 0) {
      seconds +=
          collective ? to.collectives->Of(CollectiveKind::kAllGather, gathers) : Message(differ, missing.forward);
    }
    if (!back_) return seconds;
    // Over axes that are not idle each rank has a summand of what it read whole. Those of an all_gather are scattered;
    // before messages they are added up.
    const uint32_t summands = gathers & ~to.idle;
    uint32_t added = whole_before & whole_after & ~to.idle & ~from.open;
    if (collective) {
      if (missing.forward > 0) seconds += to.collectives->Of(CollectiveKind::kReduceScatter, summands);
      if (missing.back > 0) seconds += from.collectives->Of(CollectiveKind::kAllGather, slices & ~from.open);
    } else {
      // A rank gives parts of the gradient where it read other parts, not where all ranks have the same.
      const bool gives = (differ & ~to.idle & ~summands) != 0;
      seconds += Message(differ, std::max(gives ? missing.forward : 0, missing.back));
      added |= summands;
    }
    return seconds + to.collectives->Of(CollectiveKind::kAllReduce, added);
  }

  const TensorType& type_;
  const Mesh& mesh_;
  const bool back_;
  MoveSeconds& moves_;
  EdgeBlocks blocks_;
  std::map<double, CollectiveTimes> collectives_;  // by bytes
};

}  // namespace

std::vector<double> EdgeSeconds(const TensorType& type, const std::vector<EdgeEnd>& from,
                                const std::vector<EdgeEnd>& to, bool back, const Mesh& mesh, MoveSeconds& moves) {
  return Edge(type, mesh, back, moves).Run(from, to);
}

}  // namespace partita
