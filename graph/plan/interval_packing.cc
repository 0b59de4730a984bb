// Pack of graph/plan/memory_plan.h.
#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "graph/plan/memory_plan.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

// The free bytes below the top of a growing arena: by offset for joining neighbours, by size for the best fit.
class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit != by_size_.end()) {
      const auto [size, offset] = *fit;
      Remove(offset, size);
      if (size > bytes) Insert(offset + bytes, size - bytes);
      return offset;
    }
    // Grow; a free block that ends at the top is used with it.
    int64_t offset = top_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == top_) {
        offset = last;
        Remove(last, size);
      }
    }
    top_ = offset + bytes;
    return offset;
  }

  void Give(int64_t offset, int64_t bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + bytes == next->first) {
      bytes += next->second;
      Remove(next->first, next->second);
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin() && (--before)->first + before->second == offset) {
      const auto [begin, size] = *before;
      Remove(begin, size);
      offset = begin;
      bytes += size;
    }
    Insert(offset, bytes);
  }

 private:
  void Insert(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void Remove(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t top_ = 0;
};

std::vector<int> Ordered(const std::vector<Interval>& intervals, bool (*before)(const Interval&, const Interval&)) {
  std::vector<int> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return before(intervals[a], intervals[b]); });
  return order;
}

void SetBytes(const std::vector<Interval>& intervals, int64_t gap, Packing& packing) {
  packing.bytes = 0;
  for (size_t i = 0; i < intervals.size(); ++i) {
    packing.bytes = std::max(packing.bytes, packing.offsets[i] + intervals[i].bytes + gap);
  }
}

Packing PackInOrder(const std::vector<Interval>& intervals, int64_t gap) {
  Packing packing{std::vector<int64_t>(intervals.size(), 0), 0};
  FreeList free;
  using Ending = std::pair<int, int>;  // last, interval
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  for (int i : Ordered(intervals, [](const Interval&a, const Interval&b) { return a.first < b.first; })) {
    while (!live.empty() && live.top().first < intervals[i].first) {
      const int ended = live.top().second;
      live.pop();
      free.Give(packing.offsets[ended], AlignUp(intervals[ended].bytes + gap));
    }
    packing.offsets[i] = free.Take(AlignUp(intervals[i].bytes + gap));
    live.emplace(intervals[i].last, i);
  }
  SetBytes(intervals, gap, packing);
  return packing;
}

// Each interval, the largest first, into the tightest hole among those that it meets in time. Quadratic.
Packing PackLargestFirst(const std::vector<Interval>& intervals, int64_t gap) {
  Packing packing{std::vector<int64_t>(intervals.size(), 0), 0};
  std::vector<int> placed;  // sorted by offset
  for (int i : Ordered(intervals, [](const Interval&a, const Interval&b) { return a.bytes > b.bytes; })) {
    const int64_t needed = AlignUp(intervals[i].bytes + gap);
    int64_t best = -1;
    int64_t tightest = std::numeric_limits<int64_t>::max();
    int64_t free_from = 0;
    for (int other : placed) {
      const bool meet = intervals[other].first <= intervals[i].last && intervals[i].first <= intervals[other].last;
      if (!meet) continue;
      const int64_t hole = packing.offsets[other] - free_from;
      if (hole >= needed && hole < tightest) {
        best = free_from;
        tightest = hole;
      }
      free_from = std::max(free_from, packing.offsets[other] + AlignUp(intervals[other].bytes + gap));
    }
    packing.offsets[i] = best >= 0 ? best : free_from;
    const auto at = std::upper_bound(placed.begin(), placed.end(), packing.offsets[i],
                                     [&](int64_t offset, int other) { return offset < packing.offsets[other]; });
    placed.insert(at, i);
  }
  SetBytes(intervals, gap, packing);
  return packing;
}

}  // namespace

Packing Pack(const std::vector<Interval>& intervals, int64_t gap) {
  constexpr size_t kModerate = 4096;
  Packing in_order = PackInOrder(intervals, gap);
  if (intervals.size() > kModerate) return in_order;
  Packing largest_first = PackLargestFirst(intervals, gap);
  return largest_first.bytes < in_order.bytes ? largest_first : in_order;
}

}  // namespace partita
