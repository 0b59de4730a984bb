// Shapes and boxes: the sizes of a tensor, and a rectangular part of one.
//
// Sizes are in elements, row-major (the last dimension is contiguous). A rank-0 shape is a scalar with one element.
// Products that leave 63 bits are an error of the caller's input, so they are computed checked.
#ifndef PARTITA_GRAPH_VALUE_SHAPE_H_
#define PARTITA_GRAPH_VALUE_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/int_list.h"

namespace partita {

using Shape = IntList;

// Elements of `shape`; the shape must have passed CheckedElements before (every value of a verified graph has).
int64_t Elements(const Shape& shape);

// Elements, or kInvalidArgument if a size is negative or the product does not fit in 63 bits divided by 16 (so that
// bytes of any dtype fit as well).
absl::StatusOr<int64_t> CheckedElements(const Shape& shape);

// "[64,28,28,1]"; "[]" for a scalar.
std::string ToString(const Shape& shape);

// The part [offset, offset + size) of a tensor, per dimension. A box with a zero size is empty.
struct Box {
  Shape offset;
  Shape size;

  bool empty() const;
  int64_t elements() const { return Elements(size); }
  bool operator==(const Box&) const = default;
};

// The box that covers all of `shape`.
Box WholeBox(const Shape& shape);

// The common part of two boxes over the same tensor; sizes are 0 where they do not meet.
Box Intersect(const Box& a, const Box& b);

// What is left of `whole` without `inner`, a box in it that is not empty: boxes that cover it once, at most two for
// each dimension. Those of the first dimension reach over all of the others.
std::vector<Box> Around(const Box& inner, const Box& whole);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_SHAPE_H_
