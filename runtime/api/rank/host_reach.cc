#include "runtime/api/rank/host_reach.h"

#include <algorithm>
#include <utility>

#include "runtime/base/alignment.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::unique_ptr<HostReach>> HostReach::Create(Device& device, void* arena,
                                                             std::vector<ByteRange> ranges) {
  std::unique_ptr<HostReach> reach(new HostReach(arena));
  if (device.host_addressable()) return reach;
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  int64_t end = 0;  // of the last range, in the arena
  int64_t bytes = 0;
  for (const ByteRange& range : ranges) {
    const int64_t first = AlignDown(range.offset), last = AlignUp(range.offset + range.bytes);
    if (reach->mapped_.empty() || first > end) {
      reach->mapped_.push_back({{first, 0}, bytes});
      end = first;
    }
    bytes += std::max<int64_t>(0, last - end);
    end = std::max(end, last);
    reach->mapped_.back().range.bytes = end - reach->mapped_.back().range.offset;
  }
  ASSIGN_OR_RETURN(reach->memory_, device.AllocateHost(bytes));
  return reach;
}

char* HostReach::At(int64_t offset) const {
  if (memory_ == nullptr) return arena_ + offset;
  const auto behind =
      std::ranges::upper_bound(mapped_, offset, {}, [](const MappedRange& mapped) { return mapped.range.offset; });
  CHECK(behind != mapped_.begin());
  const MappedRange& mapped = *std::prev(behind);
  CHECK(offset < mapped.range.offset + mapped.range.bytes);
  return static_cast<char*>(memory_->data()) + mapped.place + (offset - mapped.range.offset);
}

}  // namespace partita
