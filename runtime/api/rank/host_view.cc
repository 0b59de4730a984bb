#include "runtime/api/rank/host_view.h"

#include <algorithm>
#include <utility>

#include "runtime/base/alignment.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::unique_ptr<HostView>> HostView::Create(Device& device, void* arena, std::vector<ByteRange> ranges) {
  std::unique_ptr<HostView> view(new HostView(arena));
  if (device.host_addressable()) return view;
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  int64_t end = 0;  // of the last piece, in the arena
  int64_t bytes = 0;
  for (const ByteRange& range : ranges) {
    const int64_t first = AlignDown(range.offset), last = AlignUp(range.offset + range.bytes);
    if (view->pieces_.empty() || first > end) {
      view->pieces_.push_back({{first, 0}, bytes});
      end = first;
    }
    bytes += std::max<int64_t>(0, last - end);
    end = std::max(end, last);
    view->pieces_.back().range.bytes = end - view->pieces_.back().range.offset;
  }
  ASSIGN_OR_RETURN(view->memory_, device.AllocateHost(bytes));
  return view;
}

char* HostView::At(int64_t offset) const {
  if (memory_ == nullptr) return arena_ + offset;
  const auto behind =
      std::ranges::upper_bound(pieces_, offset, {}, [](const Piece& piece) { return piece.range.offset; });
  CHECK(behind != pieces_.begin());
  const Piece& piece = *std::prev(behind);
  CHECK(offset < piece.range.offset + piece.range.bytes);
  return static_cast<char*>(memory_->data()) + piece.place + (offset - piece.range.offset);
}

}  // namespace partita
