#include "graph/plan/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/alignment.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool Transient(const Storage& storage) {
  return storage.kind == MemoryKind::kActivation || storage.kind == MemoryKind::kWorkspace;
}

const char* Describe(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kParameter:
      return "parameter";
    case MemoryKind::kState:
      return "state";
    case MemoryKind::kInput:
      return "staged input";
    case MemoryKind::kActivation:
      return "activation";
    case MemoryKind::kWorkspace:
      return "workspace";
  }
  return "?";
}

std::string LargestTensors(const std::vector<Storage>& storages) {
  constexpr size_t kShown = 5;
  std::vector<const Storage*> largest;
  for (const Storage& storage : storages) largest.push_back(&storage);
  const size_t shown = std::min(kShown, largest.size());
  std::partial_sort(largest.begin(), largest.begin() + shown, largest.end(), [](const Storage* a, const Storage* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->name < b->name;
  });
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}'{}' {} ({})", i == 0 ? "" : ", ", largest[i]->name, largest[i]->bytes,
                        Describe(largest[i]->kind));
  }
  return text;
}

// What makes the larger part of the memory smaller.
std::string Repairs(const MemoryUse& use) {
  const int64_t states = use.parameters + use.states;
  if (states > use.total - states) {
    return "parameters and their states dominate: split layers over a model axis, or shard the updates over data";
  }
  if (use.workspace > use.activations) {
    return "workspace dominates: choose kernels with less workspace, a smaller batch or more data-parallel ranks";
  }
  return "activations and inputs dominate: let blocks be computed again, take a smaller batch or more data-parallel "
         "ranks";
}

absl::Status CheckLimit(const std::vector<Storage>& storages, const MemoryUse& use, int64_t limit) {
  if (limit <= 0 || use.total <= limit) return absl::OkStatus();
  return ResourceExhausted(
      "{} bytes of memory are needed; the limit is {} (parameters {}, states {}, inputs {}, activations {}, workspace "
      "{}); the largest tensors in bytes: {}; {}",
      use.total, limit, use.parameters, use.states, use.inputs, use.activations, use.workspace,
      LargestTensors(storages), Repairs(use));
}

}  // namespace

absl::StatusOr<MemoryPlan> PlanMemory(const std::vector<Storage>& storages, const MemoryOptions& options) {
  MemoryPlan plan;
  plan.offsets.assign(storages.size(), 0);
  const int64_t gap = AlignUp(options.guard_bytes);
  int64_t end = gap;   // aligned: where the next storage may begin
  int64_t used = gap;  // the last byte of the storages so far, with its gap
  const auto place = [&](size_t s, int64_t& sum) {
    plan.offsets[s] = end;
    used = end + storages[s].bytes + gap;
    const int64_t taken = AlignUp(storages[s].bytes) + gap;
    sum += taken;
    end += taken;
  };
  for (size_t s = 0; s < storages.size(); ++s) {
    if (storages[s].kind == MemoryKind::kParameter) place(s, plan.use.parameters);
    if (storages[s].kind == MemoryKind::kState) place(s, plan.use.states);
  }
  for (size_t s = 0; s < storages.size(); ++s) {
    if (storages[s].kind == MemoryKind::kInput) place(s, plan.use.inputs);
  }

  std::vector<Interval> intervals;
  std::vector<size_t> transients;
  for (size_t s = 0; s < storages.size(); ++s) {
    if (!Transient(storages[s])) continue;
    transients.push_back(s);
    constexpr int kForEver = 1 << 30;
    const int linger = storages[s].last_by_collective ? options.linger_after_collective : options.linger;
    intervals.push_back(options.reuse ? Interval{storages[s].bytes, storages[s].first, storages[s].last + linger}
                                      : Interval{storages[s].bytes, 0, kForEver});
  }
  const Packing packing = Pack(intervals, gap);
  int64_t activations = 0;
  for (size_t i = 0; i < transients.size(); ++i) {
    plan.offsets[transients[i]] = end + packing.offsets[i];
    if (storages[transients[i]].kind == MemoryKind::kActivation) {
      activations = std::max(activations, packing.offsets[i] + intervals[i].bytes + gap);
    }
  }
  plan.use.activations = activations;
  plan.use.workspace = packing.bytes - activations;
  plan.use.total = intervals.empty() ? used : end + packing.bytes;
  RETURN_IF_ERROR(CheckLimit(storages, plan.use, options.limit));
  return plan;
}

}  // namespace partita
