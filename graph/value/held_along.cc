#include "graph/value/held_along.h"

namespace partita {

Range HeldAlong(const Layout& layout, size_t dimension, int64_t size, const Mesh& mesh,
                const std::vector<int64_t>& coordinates) {
  Range held{0, size};
  const Windows* windows = nullptr;
  bool whole = true;
  for (size_t a = 0; a < layout.size(); ++a) {
    const AxisLayout& axis = layout[a];
    if (!axis.split() || axis.dimension != static_cast<int>(dimension)) continue;
    if (whole && axis.windows) {  // until the end, outputs are counted
      windows = &*axis.windows;
      held.end = windows->count;
    }
    whole = false;
    const Range block = CutBlock(axis, held.size(), mesh.axes[a].size, coordinates[a]);
    held = {held.begin + block.begin, held.begin + block.end};
  }
  return windows == nullptr ? held : BlockOf(*windows, held, size);
}

}  // namespace partita
