// Describes what ranks hold of one dimension of a value.
#ifndef PARTITA_GRAPH_VALUE_HELD_ALONG_H_
#define PARTITA_GRAPH_VALUE_HELD_ALONG_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/value/layout.h"
#include "graph/value/mesh.h"
#include "graph/value/windows.h"

namespace partita {

// Block i of the p into which a split cuts n elements, or n outputs of its windows.
inline Range CutBlock(const AxisLayout& split, int64_t n, int p, int64_t i) {
  if (!split.cuts.empty()) return {split.cuts[i], split.cuts[i + 1]};
  const int64_t begin = i * (n / p) + std::min(i, n % p);
  return {begin, begin + n / p + (i < n % p ? 1 : 0)};
}

// Of a dimension of `size` elements, the part of a rank with these coordinates, one for each axis: a side of LocalBox.
// Only those count on axes that split the dimension.
Range HeldAlong(const Layout& layout, size_t dimension, int64_t size, const Mesh& mesh,
                const std::vector<int64_t>& coordinates);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_HELD_ALONG_H_
