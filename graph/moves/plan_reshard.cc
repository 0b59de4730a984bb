#include "graph/moves/plan_reshard.h"

#include <algorithm>
#include <limits>

#include "graph/moves/move_bytes.h"

namespace partita {
namespace {

// Blocks of windows become balanced blocks. All axes that split a dimension have the same windows, so none is left
// inside blocks that are gone.
void DropWindows(Layout& layout) {
  for (AxisLayout& axis : layout) {
    if (axis.windows) axis = AxisLayout::Split(axis.dimension);
  }
}

Layout WithSumsAs(Layout layout, const AxisLayout& whole) {
  for (AxisLayout& axis : layout) {
    if (axis.partial()) axis = whole;
  }
  return layout;
}

bool Splits(const Layout& layout, int dimension) {
  return std::any_of(layout.begin(), layout.end(),
                     [&](const AxisLayout& axis) { return axis.split() && axis.dimension == dimension; });
}

}  // namespace

Layout ArrivalFor(const Layout& to) {
  Layout arrival = to;
  DropWindows(arrival);
  for (AxisLayout& axis : arrival) {
    if (!axis.partial()) continue;
    // A maximum needs a number from every rank; of a sum one rank's is enough.
    axis = axis.reduction == Reduction::kMax ? AxisLayout::Replicate() : AxisLayout::At(0);
  }
  return arrival;
}

Layout DepartureFor(const Layout& from, const Layout& arrival, const TensorType& type,
                    const std::vector<Mesh>& meshes) {
  Layout plain = from;
  DropWindows(plain);
  if (std::none_of(plain.begin(), plain.end(), [](const AxisLayout& axis) { return axis.partial(); })) return plain;
  std::vector<Layout> departures = {WithSumsAs(plain, AxisLayout::Replicate()), WithSumsAs(plain, AxisLayout::At(0))};
  for (int d = 0; d < static_cast<int>(type.shape.size()); ++d) {
    if (!Splits(plain, d)) departures.push_back(WithSumsAs(plain, AxisLayout::Split(d)));
  }
  const Mesh& mesh = meshes[from.mesh];
  const Mesh& other = meshes[arrival.mesh];
  int64_t least = std::numeric_limits<int64_t>::max();
  Layout best;
  for (Layout& departure : departures) {
    const int64_t bytes =
        WireBytes(from, departure, type, mesh) + BytesOfReshard(departure, mesh, arrival, other, type).wire;
    if (bytes >= least) continue;
    least = bytes;
    best = std::move(departure);
  }
  return best;
}

}  // namespace partita
