#include "graph/byte_history.h"

#include <algorithm>
#include <iterator>

namespace partita {

void ByteHistory::SplitAt(int64_t offset) {
  auto run = runs_.upper_bound(offset);
  if (run == runs_.begin()) return;
  --run;
  if (run->first == offset || run->second.end <= offset) return;
  Run right = run->second;
  run->second.end = offset;
  runs_.emplace_hint(std::next(run), offset, std::move(right));
}

void ByteHistory::FillGaps(int64_t begin, int64_t end) {
  auto run = runs_.lower_bound(begin);
  while (begin < end) {
    const int64_t next = run == runs_.end() ? end : std::min(run->first, end);
    if (begin < next) run = std::next(runs_.emplace_hint(run, begin, Run{next, -1, {}}));
    if (run == runs_.end()) return;
    begin = run->second.end;
    ++run;
  }
}

void ByteHistory::Overwrite(int64_t begin, int64_t end, int writer) {
  runs_.erase(runs_.lower_bound(begin), runs_.lower_bound(end));
  runs_.emplace(begin, Run{end, writer, {}});
}

}  // namespace partita
