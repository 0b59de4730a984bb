#include "partitioner/search/elimination/factor.h"

#include <algorithm>
#include <utility>

#include "partitioner/search/elimination/min_plus.h"

namespace partita {
namespace {

// Walks over all entries of `sizes` but the last dimension, with the index that `strides` give.
template <typename Visit>
void ForEachRow(const std::vector<int>& sizes, const std::vector<int64_t>& strides, const Visit& visit) {
  std::vector<int> at(sizes.size(), 0);
  int64_t index = 0;
  for (int64_t row = 0;; ++row) {
    visit(row, index);
    int d = static_cast<int>(sizes.size()) - 2;
    for (; d >= 0 && ++at[d] == sizes[d]; --d) {
      index -= strides[d] * (sizes[d] - 1);
      at[d] = 0;
    }
    if (d < 0) return;
    index += strides[d];
  }
}

void Add(const Factor& factor, const std::vector<int>& scope, const std::vector<int>& sizes, std::vector<double>& out) {
  std::vector<int64_t> strides;
  for (const int op : scope) strides.push_back(factor.Stride(op));
  const int columns = sizes.back();
  const int64_t step = strides.back();
  ForEachRow(sizes, strides, [&](int64_t row, int64_t index) {
    const double* in = factor.entries->data() + index;
    double* to = out.data() + row * columns;
    for (int j = 0; j < columns; ++j) to[j] += in[j * step];
  });
}

std::vector<int> OtherOps(int op, const std::vector<Factor>& factors) {
  std::vector<int> others;
  for (const Factor& factor : factors) others.insert(others.end(), factor.scope.begin(), factor.scope.end());
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  others.erase(std::remove(others.begin(), others.end(), op), others.end());
  return others;
}

// The ops that stand with `other` in a factor, without `op` and `other` themselves.
std::vector<int> Companions(int other, int op, const std::vector<Factor>& factors) {
  std::vector<Factor> with;
  std::copy_if(factors.begin(), factors.end(), std::back_inserter(with),
               [&](const Factor& factor) { return factor.Has(other); });
  std::vector<int> ops = OtherOps(op, with);
  ops.erase(std::remove(ops.begin(), ops.end(), other), ops.end());
  return ops;
}

Factor Constant(const std::vector<Factor>& factors, int op, const ConfigCounts& configs) {
  const Factor sum = Sum(factors, {op}, configs);
  const double least = *std::min_element(sum.entries->begin(), sum.entries->end());
  return {{}, {}, std::make_shared<const std::vector<double>>(1, least)};
}

}  // namespace

bool Factor::Has(int op) const { return std::find(scope.begin(), scope.end(), op) != scope.end(); }

int64_t Factor::Stride(int op) const {
  int64_t stride = 1;
  for (size_t d = scope.size(); d-- > 0; stride *= sizes[d]) {
    if (scope[d] == op) return stride;
  }
  return 0;
}

Factor Sum(const std::vector<Factor>& factors, std::vector<int> scope, const ConfigCounts& configs) {
  std::vector<int> sizes;
  int64_t count = 1;
  for (const int op : scope) {
    sizes.push_back(configs[op]);
    count *= configs[op];
  }
  std::vector<double> entries(count, 0);
  for (const Factor& factor : factors) Add(factor, scope, sizes, entries);
  return {std::move(scope), std::move(sizes), std::make_shared<const std::vector<double>>(std::move(entries))};
}

// One matrix product: rows are the configs of all other ops but one, columns those of that one, which has the fewest
// companions. Where it has some, the right matrix is another one for each of their configs.
Factor MinimumOver(int op, const std::vector<Factor>& factors, const ConfigCounts& configs) {
  std::vector<int> others = OtherOps(op, factors);
  if (others.empty()) return Constant(factors, op, configs);
  std::stable_sort(others.begin(), others.end(),
                   [&](int a, int b) { return Companions(a, op, factors).size() > Companions(b, op, factors).size(); });
  const int column = others.back();
  const std::vector<int> companions = Companions(column, op, factors);
  // Companions first, so that the rows of one right matrix lie together.
  std::vector<int> rows = companions;
  for (const int other : others) {
    if (other != column && std::find(rows.begin(), rows.end(), other) == rows.end()) rows.push_back(other);
  }
  std::vector<Factor> with, without;
  for (const Factor& factor : factors) (factor.Has(column) ? with : without).push_back(factor);
  std::vector<int> left_scope = rows, right_scope = companions, scope = rows;
  left_scope.push_back(op);
  right_scope.insert(right_scope.end(), {op, column});
  scope.push_back(column);
  const Factor left = Sum(without, left_scope, configs), right = Sum(with, right_scope, configs);

  const int64_t inner = configs[op], columns = configs[column];
  const auto blocks = static_cast<int64_t>(right.entries->size()) / (inner * columns);
  const auto block_rows = static_cast<int64_t>(left.entries->size()) / (inner * blocks);
  std::vector<double> entries(blocks * block_rows * columns);
  for (int64_t i = 0; i < blocks; ++i) {
    MinPlus(left.entries->data() + i * block_rows * inner, right.entries->data() + i * inner * columns, block_rows,
            inner, columns, entries.data() + i * block_rows * columns);
  }
  std::vector<int> sizes;
  for (const int other : scope) sizes.push_back(configs[other]);
  return {std::move(scope), std::move(sizes), std::make_shared<const std::vector<double>>(std::move(entries))};
}

double SumAt(const std::vector<Factor>& factors, const std::vector<int>& chosen) {
  double sum = 0;
  for (const Factor& factor : factors) {
    int64_t index = 0;
    for (size_t d = 0; d < factor.scope.size(); ++d) index = index * factor.sizes[d] + chosen[factor.scope[d]];
    sum += (*factor.entries)[index];
  }
  return sum;
}

}  // namespace partita
