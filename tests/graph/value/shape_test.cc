// Boxes: what is left around a part.
#include "graph/value/shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace partita {
namespace {

TEST(Around, IsRowsOverAllColumnsThenColumns) {
  const Box whole{{0, 0}, {6, 8}}, inner{{1, 2}, {4, 5}};
  const std::vector<Box> expected = {{{0, 0}, {1, 8}}, {{5, 0}, {1, 8}}, {{1, 0}, {4, 2}}, {{1, 7}, {4, 1}}};
  EXPECT_EQ(Around(inner, whole), expected);
  EXPECT_TRUE(Around(whole, whole).empty());
}

}  // namespace
}  // namespace partita
