// The backward of a move is its adjoint: every move, every form of cotangent, uneven and empty blocks.
#include <gtest/gtest.h>

#include "tests/graph/adjoint_fixture.h"

namespace partita {
namespace {

// All pairs of layouts of one axis, uneven and with empty blocks.
TEST(EveryMove, BackwardIsAdjointOverOneAxis) {
  int tested = 0;
  for (int ranks = 2; ranks <= 5; ++ranks) {
    const Mesh mesh{{{"a", ranks}}};
    for (const Shape& shape : {Shape{7, 3}, Shape{3, 6}}) {
      std::vector<int64_t> cuts(ranks + 1, shape[0]);
      cuts[0] = 0;
      cuts[1] = 1;  // all but two ranks are empty
      const std::string uneven = "a:" + AxisLayout::Split(0, cuts).ToString();
      const std::string last = "a:At" + std::to_string(ranks - 1);
      const std::vector<std::string> forms = {"a:R", "a:P", "a:S0", "a:S1", uneven, "a:At0", last};
      for (const std::string& from : forms) {
        for (const std::string& to : forms) {
          if (from == to || to == "a:P") continue;
          ExpectAdjoint({mesh, shape, ParseLayout(from, shape, mesh), ParseLayout(to, shape, mesh)},
                        17 * ranks + tested, tested % 2 == 0, tested);
        }
      }
    }
  }
  EXPECT_GT(tested, 300);
}

TEST(EveryMove, BackwardIsAdjointOverTwoAxes) {
  int tested = 0;
  const Shape shape = {5, 4};
  const std::vector<std::string> forms = {"R", "P", "S0", "S1", "At1"};
  for (const Mesh& mesh : {Mesh{{{"a", 2}, {"b", 2}}}, Mesh{{{"a", 2}, {"b", 3}}}}) {
    uint32_t drawn = 1;
    for (const std::string& f0 : forms) {
      for (const std::string& f1 : forms) {
        for (const std::string& t0 : forms) {
          for (const std::string& t1 : forms) {
            const std::string from = "a:" + f0 + " b:" + f1, to = "a:" + t0 + " b:" + t1;
            drawn = drawn * 1664525u + 1013904223u;
            if (from == to || t0 == "P" || t1 == "P" || (drawn >> 24) % 4 != 0) continue;
            ExpectAdjoint({mesh, shape, ParseLayout(from, shape, mesh), ParseLayout(to, shape, mesh)}, drawn, false,
                          tested);
          }
        }
      }
    }
  }
  EXPECT_GT(tested, 150);
}

}  // namespace
}  // namespace partita
