#include "ops/values/transposition.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace partita {
namespace {

// One dimension for a run of x's that follow each other in y as well.
struct Run {
  int64_t first = 0, last = 0;  // of x's dimensions
  int64_t size = 1;
};

// In y's order.
std::vector<Run> RunsOf(const Shape& shape, const IntList& permutation) {
  std::vector<int64_t> ranks(shape.size());  // of x's dimensions among those of more than one element
  int64_t rank = 0;
  for (size_t d = 0; d < shape.size(); ++d) ranks[d] = shape[d] == 1 ? -1 : rank++;
  std::vector<Run> runs;
  for (const int64_t d : permutation) {
    if (shape[d] == 1) continue;
    if (!runs.empty() && ranks[d] == runs.back().last + 1) {
      runs.back().last = ranks[d];
      runs.back().size *= shape[d];
    } else {
      runs.push_back({ranks[d], ranks[d], shape[d]});
    }
  }
  return runs;
}

}  // namespace

Transposition MakeTransposition(const Shape& shape, const IntList& permutation) {
  Transposition result;
  std::vector<Run> runs = RunsOf(shape, permutation);
  const auto by_place = [](const Run& a, const Run& b) { return a.first < b.first; };
  if (!runs.empty() && runs.end() - 1 == std::max_element(runs.begin(), runs.end(), by_place)) {
    result.cell = runs.back().size;
    runs.pop_back();
  }
  std::vector<Transposition::Dimension> dimensions(runs.size());
  std::vector<size_t> in_x(runs.size());
  std::iota(in_x.begin(), in_x.end(), size_t{0});
  std::sort(in_x.begin(), in_x.end(), [&](size_t a, size_t b) { return by_place(runs[a], runs[b]); });
  int64_t x_step = 1, y_step = 1;
  for (size_t i = runs.size(); i-- > 0;) {
    dimensions[in_x[i]].x_step = std::exchange(x_step, x_step * runs[in_x[i]].size);
    dimensions[i].y_step = std::exchange(y_step, y_step * runs[i].size);
    dimensions[i].size = runs[i].size;
  }
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].x_step == 1) {
      result.columns = dimensions[i];
    } else if (dimensions[i].y_step == 1) {
      result.rows = dimensions[i];
    } else {
      result.outer.push_back(dimensions[i]);
    }
  }
  return result;
}

}  // namespace partita
