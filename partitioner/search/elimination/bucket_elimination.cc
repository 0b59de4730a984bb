#include "partitioner/search/elimination/bucket_elimination.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace partita {
namespace {

// All ops of `factors` but those of `keep` are minimised over.
std::vector<Factor> Project(std::vector<Factor> factors, const std::vector<int>& keep, const ConfigCounts& configs) {
  const auto is_kept = [&](int op) { return std::find(keep.begin(), keep.end(), op) != keep.end(); };
  for (;;) {
    int op = -1;
    for (const Factor& factor : factors) {
      for (const int one : factor.scope) op = op < 0 && !is_kept(one) ? one : op;
    }
    if (op < 0) return factors;
    const auto middle =
        std::stable_partition(factors.begin(), factors.end(), [&](const Factor& factor) { return !factor.Has(op); });
    const std::vector<Factor> with(middle, factors.end());
    factors.erase(middle, factors.end());
    factors.push_back(MinimumOver(op, with, configs));
  }
}

int FirstOf(const std::vector<int>& scope, const std::vector<int>& position) {
  return *std::min_element(scope.begin(), scope.end(), [&](int a, int b) { return position[a] < position[b]; });
}

}  // namespace

BucketElimination::BucketElimination(const CostTables& tables, const EliminationOrder& order, const OpCosts& costs)
    : order_(order), buckets_(tables.ops.size()) {
  std::vector<int> position(tables.ops.size());
  for (size_t i = 0; i < order.ops.size(); ++i) position[order.ops[i]] = static_cast<int>(i);
  for (size_t op = 0; op < tables.ops.size(); ++op) configs_.push_back(tables.configs(static_cast<int>(op)));
  const auto put = [&](Factor factor, int from) {
    const int op = FirstOf(factor.scope, position);
    buckets_[op].factors.push_back(std::move(factor));
    buckets_[op].from.push_back(from);
    return op;
  };
  for (size_t i = 0; i < tables.ops.size(); ++i) {
    const int op = static_cast<int>(i);
    put({{op}, {configs_[op]}, std::make_shared<const std::vector<double>>(costs[op])}, -1);
  }
  for (const EdgeTable& edge : tables.edges)
    put({{edge.from, edge.to}, {configs_[edge.from], configs_[edge.to]}, edge.seconds}, -1);
  for (const int op : order.ops) {
    Factor left = MinimumOver(op, buckets_[op].factors, configs_);
    if (left.scope.empty()) {
      least_ += buckets_[op].least = left.entries->front();
    } else {
      buckets_[op].parent = put(std::move(left), op);
    }
  }
}

std::vector<int> BucketElimination::Configs() const {
  std::vector<int> chosen(configs_.size(), 0);
  for (auto op = order_.ops.rbegin(); op != order_.ops.rend(); ++op) {
    double least = kNever;
    int best = 0;
    for (chosen[*op] = 0; chosen[*op] < configs_[*op]; ++chosen[*op]) {
      const double sum = SumAt(buckets_[*op].factors, chosen);
      if (sum < least) {
        least = sum;
        best = chosen[*op];
      }
    }
    chosen[*op] = best;
  }
  return chosen;
}

std::vector<Factor> BucketElimination::RestOf(int op, const std::vector<std::vector<Factor>>& rests) const {
  const int parent = buckets_[op].parent;
  if (parent < 0) return {{{}, {}, std::make_shared<const std::vector<double>>(1, least_ - buckets_[op].least)}};
  const Bucket& bucket = buckets_[parent];
  std::vector<Factor> factors = rests[parent];
  std::vector<int> scope;
  for (size_t i = 0; i < bucket.factors.size(); ++i) {
    if (bucket.from[i] == op) {
      scope = bucket.factors[i].scope;
    } else {
      factors.push_back(bucket.factors[i]);
    }
  }
  return Project(std::move(factors), scope, configs_);
}

std::vector<std::vector<Factor>> BucketElimination::Rests() const {
  std::vector<std::vector<Factor>> rests(buckets_.size());
  for (auto op = order_.ops.rbegin(); op != order_.ops.rend(); ++op) rests[*op] = RestOf(*op, rests);
  return rests;
}

OpCosts BucketElimination::Regrets() const {
  const std::vector<std::vector<Factor>> rests = Rests();
  OpCosts regrets(buckets_.size());
  for (const int op : order_.ops) {
    std::vector<Factor> factors = buckets_[op].factors;
    factors.insert(factors.end(), rests[op].begin(), rests[op].end());
    std::vector<double> sums = *Sum(Project(std::move(factors), {op}, configs_), {op}, configs_).entries;
    for (double& sum : sums) sum -= least_;
    regrets[op] = std::move(sums);
  }
  return regrets;
}

}  // namespace partita
