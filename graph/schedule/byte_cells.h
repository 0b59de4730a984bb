// Maps every byte to what is known about it, as runs of bytes with equal knowledge.
#ifndef PARTITA_GRAPH_SCHEDULE_BYTE_CELLS_H_
#define PARTITA_GRAPH_SCHEDULE_BYTE_CELLS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/container/btree_map.h"
#include "graph/schedule/schedule.h"

namespace partita {

// Cells cover the bytes from 0 on without gaps; each begins at its key and ends where the next one begins, the last one
// never. At first there is one cell, `Cell()`. A range that is one cell costs one search.
template <typename Cell>
class ByteCells {
 public:
  using Cells = absl::btree_map<int64_t, Cell>;
  using Iterator = typename Cells::iterator;

  ByteCells() { cells_[0]; }

  // The cells of a range that is not empty, cut so that none reaches beyond it. They are valid until the next Cut.
  std::pair<Iterator, Iterator> Cut(const ByteRange& range) {
    const int64_t end = range.offset + range.bytes;
    Iterator first = CutAt(range.offset);
    Iterator stop = std::next(first);
    while (stop != cells_.end() && stop->first < end) ++stop;
    if (stop == cells_.end() || stop->first != end) {
      stop = CutAt(end);
      first = cells_.find(range.offset);
    }
    return {first, stop};
  }

  // One cell in place of those that Cut gave.
  void Replace(Iterator first, Iterator stop, Cell cell) {
    first->second = std::move(cell);
    if (std::next(first) != stop) cells_.erase(std::next(first), stop);
  }

 private:
  Iterator CutAt(int64_t offset) {
    const Iterator cell = std::prev(cells_.upper_bound(offset));
    if (cell->first == offset) return cell;
    Cell right = cell->second;
    return cells_.emplace_hint(std::next(cell), offset, std::move(right));
  }

  Cells cells_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_BYTE_CELLS_H_
