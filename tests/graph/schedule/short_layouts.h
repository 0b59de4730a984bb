// Layouts and meshes in few letters, for tables of moves. In a namespace of their own: S and R are also patterns of
// rules.
#ifndef PARTITA_TESTS_GRAPH_SCHEDULE_SHORT_LAYOUTS_H_
#define PARTITA_TESTS_GRAPH_SCHEDULE_SHORT_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/layout.h"
#include "graph/value/windows.h"

namespace partita::short_layouts {

inline const AxisLayout R = AxisLayout::Replicate();
inline const AxisLayout P = AxisLayout::Partial();
inline AxisLayout S(int dimension, std::vector<int64_t> cuts = {}) {
  return AxisLayout::Split(dimension, std::move(cuts));
}
inline AxisLayout At(int coordinate) { return AxisLayout::At(coordinate); }
inline AxisLayout W(int dimension, const std::string& windows, std::vector<int64_t> cuts = {}) {
  return AxisLayout::Split(dimension, std::move(cuts), *ParseWindows(windows));
}

inline const Mesh kLine{{{"data", 4}}};
inline const Mesh kGrid{{{"data", 2}, {"model", 2}}};

}  // namespace partita::short_layouts

#endif  // PARTITA_TESTS_GRAPH_SCHEDULE_SHORT_LAYOUTS_H_
