#include "tools/benchmarks/oracle/plan_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "partitioner/data_model_strategy.h"
#include "runtime/train/graph_fields.h"

namespace partita {
namespace {

constexpr std::pair<LayerSplit, const char*> kConvolutions[] = {
    {LayerSplit::kChannels, "channels"}, {LayerSplit::kRows, "rows"}, {LayerSplit::kSamples, "samples"}};

class Pool {
 public:
  Pool(const Graph& forward, int ranks) : forward_(forward), ranks_(ranks) {}

  std::vector<NamedPlan> Make() {
    for (int model = 2; model <= ranks_; ++model) {
      if (ranks_ % model == 0) AddModelSplits(model);
    }
    for (const int64_t micro_batches : {2, 4, 8}) AddMicroBatches(1, micro_batches);
    for (const int64_t micro_batches : {4, 16}) AddMicroBatches(ranks_, micro_batches);
    for (const double share : {1.3, 1.6, 1.9}) AddUnequal(share);
    Strategy all;
    all.mesh.axes = {{"model", ranks_}};
    all.ops = {{"*", {{"model", {"replicate", 0, {}}}}, {}}};
    Add("all on every rank", std::move(all));
    return std::move(plans_);
  }

 private:
  void Add(std::string name, absl::StatusOr<Strategy> strategy) {
    if (strategy.ok()) plans_.push_back({std::move(name), *std::move(strategy)});
  }

  void AddModelSplits(int model) {
    for (const auto& [split, name] : kConvolutions) {
      for (const InputGradients gradients : {InputGradients::kReduceScatter, InputGradients::kAllReduce}) {
        DataModelOptions options;
        options.convolutions = split;
        options.input_gradients = gradients;
        Add(fmt::format("--dp={} --mp={} --convolutions={} --input-gradients={}", ranks_ / model, model, name,
                        Name(gradients)),
            DataModelStrategy(forward_, ranks_ / model, model, options));
      }
    }
  }

  void AddMicroBatches(int model, int64_t micro_batches) {
    absl::StatusOr<Strategy> strategy = DataModelStrategy(forward_, ranks_ / model, model);
    if (strategy.ok()) strategy->pipeline.micro_batches = micro_batches;
    Add(fmt::format("--dp={} --mp={} --micro-batches={}", ranks_ / model, model, micro_batches), std::move(strategy));
  }

  // The first rank has so many times its equal share of each batch, in all that is split by samples.
  void AddUnequal(double times) {
    absl::StatusOr<Strategy> strategy = DataModelStrategy(forward_, ranks_, 1);
    const absl::StatusOr<int64_t> rows = BatchRows(forward_);
    if (!strategy.ok() || !rows.ok()) return;
    const auto first = static_cast<int64_t>(times * static_cast<double>(*rows) / ranks_);
    std::vector<int64_t> cuts = {0};
    for (int rank = 1; rank <= ranks_; ++rank) cuts.push_back(first + (*rows - first) * (rank - 1) / (ranks_ - 1));
    for (OpConfig& op : strategy->ops) {
      for (auto& [axis, config] : op.axes) {
        if (axis == "data" && config.split == "samples") config.cuts = cuts;
      }
    }
    Add(fmt::format("--dp={}, the first with {:g} times its share", ranks_, times), std::move(strategy));
  }

  const Graph& forward_;
  const int ranks_;
  std::vector<NamedPlan> plans_;
};

// Each at least so many times as long as the one before it, with `kept`.
std::vector<size_t> Chain(const std::vector<double>& seconds, size_t kept, double factor) {
  std::vector<size_t> chain;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const bool hides = i < kept ? seconds[kept] < factor * seconds[i] : seconds[i] < factor * seconds[kept];
    if (i != kept && hides) continue;
    if (chain.empty() || seconds[i] >= factor * seconds[chain.back()]) chain.push_back(i);
  }
  return chain;
}

}  // namespace

std::vector<NamedPlan> PlanPool(const Graph& forward, int ranks) { return Pool(forward, ranks).Make(); }

std::vector<size_t> FurthestApart(const std::vector<double>& seconds, size_t kept, size_t count) {
  std::vector<size_t> all(seconds.size());
  std::iota(all.begin(), all.end(), 0);
  if (seconds.size() <= count) return all;
  std::vector<double> factors = {1};
  for (size_t i = 0; i < seconds.size(); ++i) {
    for (size_t j = i + 1; j < seconds.size(); ++j) factors.push_back(seconds[j] / seconds[i]);
  }
  std::ranges::sort(factors, std::greater<>());
  for (const double factor : factors) {
    // The quotient of two is a little less than the factor that made it, by rounding.
    const std::vector<size_t> chain = Chain(seconds, kept, factor * (1 - 1e-12));
    if (chain.size() < count) continue;
    const auto place = static_cast<size_t>(std::ranges::find(chain, kept) - chain.begin());
    const size_t first = place < count ? 0 : place + 1 - count;
    return {chain.begin() + static_cast<std::ptrdiff_t>(first),
            chain.begin() + static_cast<std::ptrdiff_t>(first + count)};
  }
  return all;
}

}  // namespace partita
