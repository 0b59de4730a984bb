// How a value lies on a mesh (docs/derivation.md 1): per mesh axis
//
//   Split(d)     rank i of the axis holds block i of dimension d: balanced (the first n mod p blocks get one more), or
//                by explicit cut points; blocks may be empty
//   Replicate    every rank holds the same bytes
//   Partial      the value is the sum (or maximum) over the axis of what the ranks hold
//   At(c)        only the rank with coordinate c holds it
//
// Two axes on one dimension nest in mesh-axis order, cuts relative to the parent block (10 over 2 x 2: 3,2,3,2).
// A split may be by sliding windows (graph/value/windows.h): its blocks and cuts are then those of the outputs, and a
// rank holds what its outputs read, ghosts and margins included. All axes that split the dimension have the same
// windows. Text: `{data:S0 model:At1}`, cuts as `S0[0,22,43]`, windows as `S1(28x3/1-1)`, maximum as `P(max)`.
#ifndef PARTITA_GRAPH_VALUE_LAYOUT_H_
#define PARTITA_GRAPH_VALUE_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/mesh.h"
#include "graph/value/reduction.h"
#include "graph/value/shape.h"
#include "graph/value/windows.h"

namespace partita {

struct AxisLayout {
  enum class Kind : uint8_t { kReplicate, kSplit, kPartial, kAt };

  Kind kind = Kind::kReplicate;
  int dimension = 0;                      // kSplit
  int coordinate = 0;                     // kAt
  Reduction reduction = Reduction::kSum;  // kPartial
  std::vector<int64_t> cuts;              // kSplit: size + 1 cut points from 0 to the dimension's size; empty: balanced
  std::optional<Windows> windows;         // kSplit: the blocks are what windows need

  static AxisLayout Replicate() { return {}; }
  static AxisLayout Split(int dimension, std::vector<int64_t> cuts = {}, std::optional<Windows> windows = {});
  static AxisLayout Partial(Reduction reduction = Reduction::kSum);
  static AxisLayout At(int coordinate);

  bool replicated() const { return kind == Kind::kReplicate; }
  bool split() const { return kind == Kind::kSplit; }
  bool partial() const { return kind == Kind::kPartial; }
  bool at() const { return kind == Kind::kAt; }
  bool summed() const { return windows && windows->summed; }  // ranks hold overlapping summands
  bool operator==(const AxisLayout&) const = default;

  // "R", "S0", "S0[0,22,43]", "P", "P(max)", "At1"
  std::string ToString() const;
};

// One AxisLayout per axis of a mesh, and which mesh that is. No axes on an unpartitioned graph. Ranks that are not on
// the mesh hold nothing. Layouts on different meshes are never equal.
struct Layout : std::vector<AxisLayout> {
  using std::vector<AxisLayout>::vector;
  int mesh = 0;  // Mesh::id
  bool operator==(const Layout&) const = default;
};

Layout Replicated(const Mesh& mesh);
std::string ToString(const Layout& layout, const Mesh& mesh);  // "{data:S0 model:R}"
absl::StatusOr<AxisLayout> ParseAxisLayout(const std::string& text);

// The balanced cut points of n elements over p blocks: p + 1 numbers from 0 to n.
std::vector<int64_t> BalancedCuts(int64_t n, int p);

// Checks a layout against a shape: dimensions exist, coordinates lie on the axis, cut points rise from 0 to the size of
// the (parent) block, and sums (P) and maxima (P(max)) do not mix. Names what is wrong.
absl::Status CheckLayout(const Layout& layout, const Shape& shape, const Mesh& mesh);

// The part of a value that `rank` holds: nullopt if an At, or the mesh, keeps the value elsewhere; an empty box if its
// block is empty. Where windows have margins, it reaches over the ends of the tensor.
std::optional<Box> LocalBox(const Layout& layout, const Shape& shape, const Mesh& mesh, int rank);

// True if the two axis layouts put the same elements on the same ranks of axis `axis` for a value of `shape` (a
// balanced split equals its explicit cuts when it is the only split of that dimension).
bool SameAxis(const AxisLayout& a, const AxisLayout& b, int64_t dimension_size, int axis_size);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_LAYOUT_H_
