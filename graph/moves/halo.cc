#include "graph/moves/halo.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {
namespace {

HaloBlock Widths(const Range& own, const Range& span, int64_t n, bool clipped) {
  const Range needed = Overlap(span, {0, n});
  HaloBlock block{-own.size(), 0, 0, 0};
  if (!needed.empty()) {
    block.left = own.begin - needed.begin;
    block.right = needed.end - own.end;
  }
  if (!clipped && !span.empty()) {
    block.margin_left = std::min(span.size(), std::max<int64_t>(0, -span.begin));
    block.margin_right = std::min(span.size(), std::max<int64_t>(0, span.end - n));
  }
  return block;
}

}  // namespace

Halo PlanHalo(int64_t n, const std::vector<int64_t>& cuts, const std::vector<int64_t>& output_cuts,
              const Windows& windows) {
  CHECK(cuts.size() == output_cuts.size() && !cuts.empty());
  const int blocks = static_cast<int>(cuts.size()) - 1;
  Halo halo;
  for (int to = 0; to < blocks; ++to) {
    const Range span = SpanOf(windows, {output_cuts[to], output_cuts[to + 1]});
    halo.blocks.push_back(Widths({cuts[to], cuts[to + 1]}, span, n, windows.clipped));
    for (int from = 0; from < blocks; ++from) {
      const Range sent = Overlap(span, {cuts[from], cuts[from + 1]});
      if (from != to && !sent.empty()) halo.sends.push_back({from, to, sent});
    }
  }
  return halo;
}

}  // namespace partita
