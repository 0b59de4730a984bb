#include "graph/derive/recomputed_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

Strategy PatternsOf(const std::vector<RecomputedBlock>& blocks) {
  Strategy patterns;
  for (const RecomputedBlock& block : blocks) {
    for (const std::string& pattern : block.nodes) patterns.ops.push_back({pattern, {}, {}});
  }
  return patterns;
}

absl::Status NamesNothing(const std::string& pattern, const Graph& forward) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < static_cast<NodeId>(std::min<size_t>(forward.nodes().size(), 4096)); ++id) {
    names.push_back(forward.name(id));
  }
  const std::optional<std::string> nearest = NearestName(pattern, names);
  return InvalidArgument("recompute: '{}' names no node of the graph{}", pattern,
                         nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
}

}  // namespace

RecomputedBlocks::RecomputedBlocks(const std::vector<RecomputedBlock>& blocks)
    : patterns_(PatternsOf(blocks)), index_(patterns_) {
  for (size_t block = 0; block < blocks.size(); ++block) {
    block_of_.insert(block_of_.end(), blocks[block].nodes.size(), static_cast<int>(block));
  }
}

int RecomputedBlocks::BlockOf(const std::string& name) const {
  const std::vector<int>& entries = index_.Matching(name);
  return entries.empty() ? -1 : block_of_[static_cast<size_t>(entries.front())];
}

absl::Status RecomputedBlocks::Check(const Graph& forward, int64_t& comparisons) const {
  std::vector<bool> matched(patterns_.ops.size(), false);
  for (NodeId id = 0; !matched.empty() && id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    for (const int entry : index_.Matching(forward.name(id), comparisons)) matched[static_cast<size_t>(entry)] = true;
    if (comparisons >= 0) continue;
    return InvalidArgument("recompute: {} patterns against the names of {} nodes take more than {} comparisons",
                           matched.size(), forward.nodes().size(), kMostComparisons);
  }
  const auto missing = std::ranges::find(matched, false);
  if (missing == matched.end()) return absl::OkStatus();
  return NamesNothing(patterns_.ops[static_cast<size_t>(missing - matched.begin())].pattern, forward);
}

}  // namespace partita
