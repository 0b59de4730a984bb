#include "runtime/exec/memory_check.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

int64_t End(const ByteRange& range) { return range.offset + range.bytes; }

// The parts of [0, end) that no range covers. `ranges` are sorted by offset.
std::vector<ByteRange> Complement(const std::vector<ByteRange>& ranges, int64_t end) {
  std::vector<ByteRange> gaps;
  int64_t next = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset > next) gaps.push_back({next, range.offset - next});
    next = std::max(next, End(range));
  }
  if (next < end) gaps.push_back({next, end - next});
  return gaps;
}

void Sort(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
}

}  // namespace

MemoryCheck::MemoryCheck(std::vector<const Schedule*> schedules, void* arena, int64_t guard_bytes)
    : schedules_(std::move(schedules)), arena_(static_cast<unsigned char*>(arena)), guard_bytes_(guard_bytes) {
  std::vector<ByteRange> used;
  for (const Schedule* schedule : schedules_) {
    planned_ = std::max(planned_, schedule->memory.total);
    for (const Lifetime& lifetime : schedule->lifetimes) {
      used.push_back(lifetime.range);
      if (!lifetime.scratch) highest_end_ = std::max(highest_end_, End(lifetime.range));
      if (lifetime.persistent) states_.push_back(lifetime.range);
    }
  }
  Sort(used);
  Sort(states_);
  gaps_ = Complement(used, planned_ + guard_bytes_);
}

void MemoryCheck::Paint() {
  for (const ByteRange& range : Complement(states_, planned_ + guard_bytes_)) {
    std::memset(arena_ + range.offset, kCanaryByte, static_cast<size_t>(range.bytes));
  }
}

absl::Status MemoryCheck::CheckGuards(bool guard_only) const {
  for (const ByteRange& gap : gaps_) {
    const int64_t end = End(gap);
    for (int64_t byte = guard_only ? std::max(gap.offset, planned_) : gap.offset; byte < end; ++byte) {
      if (arena_[byte] == kCanaryByte) continue;
      const Lifetime* before = nullptr;
      for (const Schedule* schedule : schedules_) {
        for (const Lifetime& lifetime : schedule->lifetimes) {
          if (End(lifetime.range) > byte || (before != nullptr && End(lifetime.range) < End(before->range))) continue;
          before = &lifetime;
        }
      }
      return Internal(
          "byte {} of the arena of {} bytes was written, {} bytes behind {}, though it is part of no tensor", byte,
          planned_, byte - (before == nullptr ? 0 : End(before->range)),
          before == nullptr ? "the beginning" : fmt::format("'{}'", before->name));
    }
  }
  return absl::OkStatus();
}

int64_t MemoryCheck::HighestTouched() const {
  int64_t highest = states_.empty() ? 0 : End(states_.back());
  for (int64_t end = planned_ + guard_bytes_; end > highest; --end) {
    if (arena_[end - 1] != kCanaryByte) return end;
  }
  return highest;
}

}  // namespace partita
