#include "graph/derive/pipeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr int64_t kNotYet = -1;

constexpr std::array<std::pair<const char*, PipelineOrder>, 4> kOrders = {{
    {"gpipe", PipelineOrder::kGPipe},
    {"1f1b", PipelineOrder::kOneForwardOneBackward},
    {"1f1b_overlap", PipelineOrder::kOverlapFriendly},
    {"local", PipelineOrder::kLocal},
}};

}  // namespace

const char* Name(PipelineOrder order) { return kOrders[static_cast<size_t>(order)].first; }

std::optional<PipelineOrder> FindPipelineOrder(const std::string& name) {
  for (const auto& [known, order] : kOrders) {
    if (name == known) return order;
  }
  return std::nullopt;
}

std::vector<std::string> PipelineOrderNames() {
  std::vector<std::string> names;
  for (const auto& [name, order] : kOrders) names.push_back(name);
  return names;
}

int64_t WarmUp(PipelineOrder order, int stages, int64_t micro_batches, int stage) {
  const int64_t after = stages - stage;
  switch (order) {
    case PipelineOrder::kGPipe:
      return micro_batches;
    case PipelineOrder::kOneForwardOneBackward:
      return std::min(micro_batches, after);
    case PipelineOrder::kOverlapFriendly:
      return std::min(micro_batches, 2 * after - 1);
    case PipelineOrder::kLocal:
      return 1;
  }
  return micro_batches;
}

std::vector<PipelineTask> TasksOf(PipelineOrder order, int stages, int64_t micro_batches, int stage) {
  const int64_t warm_up = WarmUp(order, stages, micro_batches, stage);
  std::vector<PipelineTask> tasks;
  for (int64_t m = 0; m < warm_up; ++m) tasks.push_back({m, false});
  for (int64_t m = 0; m < micro_batches; ++m) {
    tasks.push_back({m, true});
    if (warm_up + m < micro_batches) tasks.push_back({warm_up + m, false});
  }
  return tasks;
}

PipelineTimes::PipelineTimes(PipelineOrder order, int stages, int64_t micro_batches)
    : micro_batches_(micro_batches), times_(static_cast<size_t>(stages * micro_batches) * 2, kNotYet) {
  std::vector<std::vector<PipelineTask>> tasks;
  for (int s = 0; s < stages; ++s) tasks.push_back(TasksOf(order, stages, micro_batches, s));
  std::vector<size_t> next(static_cast<size_t>(stages), 0);
  const auto done_before = [&](int stage, const PipelineTask& task, int64_t time) {
    const int64_t at = At(stage, task);
    return at != kNotYet && at < time;
  };
  const auto ready = [&](int stage, const PipelineTask& task, int64_t time) {
    if (!task.backward) return stage == 0 || done_before(stage - 1, task, time);
    if (!done_before(stage, {task.micro_batch, false}, time)) return false;
    return order == PipelineOrder::kLocal || stage == stages - 1 || done_before(stage + 1, task, time);
  };
  int64_t left = static_cast<int64_t>(times_.size());
  while (left > 0) {
    const int64_t before = left;
    for (int s = 0; s < stages; ++s) {
      if (next[s] == tasks[s].size() || !ready(s, tasks[s][next[s]], length_)) continue;
      times_[Index(s, tasks[s][next[s]++])] = length_;
      --left;
    }
    CHECK(left < before);  // every order lets some stage go on
    ++length_;
  }
}

}  // namespace partita
