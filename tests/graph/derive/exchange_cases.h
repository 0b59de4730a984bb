// A value goes from one sub-mesh to another: the cases of arXiv 2211.05322's benchmark (docs/papers.md 4.3) on small
// tensors. Two meshes are two coordinates of an axis `stage`; a mesh with fewer ranks leaves the others' blocks empty.
#ifndef PARTITA_TESTS_GRAPH_DERIVE_EXCHANGE_CASES_H_
#define PARTITA_TESTS_GRAPH_DERIVE_EXCHANGE_CASES_H_

#include <string>
#include <vector>

#include "graph/value/layout.h"

namespace partita {

struct ExchangeCase {
  std::string name;
  Mesh mesh;
  Shape shape;
  Layout from, to;
};

inline std::vector<ExchangeCase> ExchangeCases() {
  const Mesh twice_2x4{{{"stage", 2}, {"a", 2}, {"b", 4}}}, twice_3x4{{{"stage", 2}, {"a", 3}, {"b", 4}}};
  const AxisLayout R = AxisLayout::Replicate(), source = AxisLayout::At(0), target = AxisLayout::At(1);
  const auto S = [](int dimension, std::vector<int64_t> cuts = {}) {
    return AxisLayout::Split(dimension, std::move(cuts));
  };
  return {
      {"same layout, dim 0 by 2", twice_2x4, {7, 6, 4}, {source, S(0), R}, {target, S(0), R}},
      {"R to dim 0 by 2", twice_2x4, {7, 6, 4}, {source, R, R}, {target, S(0), R}},
      {"dim 1 by 2 to dim 0 by 2", twice_2x4, {7, 6, 4}, {source, S(1), R}, {target, S(0), R}},
      {"dim 1 by 8 to dim 0 by 8", twice_2x4, {9, 10, 3}, {source, S(1), S(1)}, {target, S(0), S(0)}},
      {"dim 0 by 4 to dim 0 by 2", twice_2x4, {9, 3, 2}, {source, R, S(0)}, {target, S(0), R}},
      {"2 x 4 to 3 x 4, dim 0 by 2 to by 3",
       twice_3x4,
       {12, 3, 2},
       {source, S(0, {0, 6, 12, 12}), R},
       {target, S(0), R}},
      {"1 x 4 to 2 x 4, dim 0 by 4 to R", twice_2x4, {6, 5, 2}, {source, AxisLayout::At(0), S(0)}, {target, R, R}},
      {"dim 1 by 2 to dim 2 by 2", twice_2x4, {3, 6, 5}, {source, S(1), R}, {target, S(2), R}},
  };
}

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_DERIVE_EXCHANGE_CASES_H_
