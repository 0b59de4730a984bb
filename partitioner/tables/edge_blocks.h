// The blocks of a value at the ends of an edge: what ranks miss of one way to hold it where they hold it in another.
#ifndef PARTITA_PARTITIONER_TABLES_EDGE_BLOCKS_H_
#define PARTITA_PARTITIONER_TABLES_EDGE_BLOCKS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/value/layout.h"
#include "graph/value/mesh.h"
#include "graph/value/shape.h"

namespace partita {

// Elements, of the rank that has the most of them; whole numbers that a double has exactly.
struct MissingElements {
  double forward = 0;  // of what it shall hold, those that it does not
  double back = 0;     // of what it holds, those that it shall not
};

// Layouts that cut a value alike are one way to hold it, and there are few ways to cut one dimension: the overlap of
// two of these is computed once. Shape and mesh must outlive it.
class EdgeBlocks {
 public:
  EdgeBlocks(const Shape& shape, const Mesh& mesh);

  // Which way this is. What is no split lies whole on every rank of its axis.
  int WayOf(const Layout& layout);

  // Once all ways are known.
  void FindCommon();

  // Elements that the first rank holds.
  double FirstBlock(int way) const { return ways_[way].elements[0]; }

  // The axes that split nothing; those that do the same in both ways: split one dimension, or nothing.
  uint32_t AxesWhole(int way) const { return ways_[way].whole; }
  uint32_t AxesAlike(int a, int b) const;

  MissingElements Missing(int from, int to);

 private:
  // A way to cut one dimension, and the blocks of all ranks.
  struct Cuts {
    uint32_t axes = 0;
    std::vector<std::pair<size_t, AxisLayout>> splits;  // by axis
    std::vector<Range> blocks;
  };
  struct Dimension {
    std::vector<Cuts> cuts;
    // By two of the cuts: elements in common, by rank, and the axes whose ranks have as many.
    std::vector<double> common;
    std::vector<uint32_t> even;
  };
  struct Way {
    std::vector<int> cuts;  // by dimension
    std::vector<uint32_t> axes;
    uint32_t whole = 0;
    std::vector<double> elements;  // by rank
  };

  int CutsOf(const Layout& layout, size_t dimension);
  uint32_t EvenAxes(const Cuts& a, const Cuts& b, int64_t size) const;
  void AddWay(const std::vector<int>& cuts);
  const std::vector<int>& RanksApart(uint32_t alike);

  const Shape& shape_;
  const Mesh& mesh_;
  std::vector<std::vector<int64_t>> coordinates_;  // by rank
  std::vector<Dimension> dimensions_;
  std::vector<Way> ways_;
  std::map<std::vector<int>, int> way_of_cuts_;
  std::vector<std::vector<int>> ranks_apart_;  // by axes; empty: not asked for yet
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_EDGE_BLOCKS_H_
