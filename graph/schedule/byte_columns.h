// Describes accesses to columns of rows: the same few bytes of every row in a range.
#ifndef PARTITA_GRAPH_SCHEDULE_BYTE_COLUMNS_H_
#define PARTITA_GRAPH_SCHEDULE_BYTE_COLUMNS_H_

#include <algorithm>
#include <cstdint>

namespace partita {

// Of every `pitch` bytes of the arena those that are `first` up to `first` + `bytes` behind a multiple of the pitch
// (they may reach beyond the next multiple). At first: every byte.
struct ByteColumns {
  int64_t pitch = 0;
  int64_t first = 0;  // < pitch
  int64_t bytes = 0;  // 0 < bytes < pitch
  bool operator==(const ByteColumns&) const = default;

  bool all() const { return pitch == 0; }
  // How far an address lies behind the beginning of a run of the columns.
  int64_t Behind(int64_t address) const { return ((address - first) % pitch + pitch) % pitch; }
  bool Has(int64_t address) const { return all() || Behind(address) < bytes; }
  // The first address from `address` on that has them.
  int64_t From(int64_t address) const { return Has(address) ? address : address + pitch - Behind(address); }
  // Where the run that has `address` ends. Not of all.
  int64_t EndOfRun(int64_t address) const { return address + bytes - Behind(address); }
  // Whether any byte of [begin, end) has them.
  bool MeetsRange(int64_t begin, int64_t end) const { return From(begin) < end; }
};

// Whether a byte of [begin, end) is surely in one of them alone: false if any is in both, or may be, because the rows
// are of different lengths.
inline bool Apart(const ByteColumns& a, const ByteColumns& b, int64_t begin, int64_t end) {
  if (!a.MeetsRange(begin, end) || !b.MeetsRange(begin, end)) return true;
  if (a.all() || b.all() || a.pitch != b.pitch) return false;
  const auto common_from = [&](const ByteColumns& x, const ByteColumns& y) {
    const int64_t behind = x.Behind(y.first);  // y begins so far behind x
    if (behind >= x.bytes) return false;
    return ByteColumns{x.pitch, y.first, std::min(y.bytes, x.bytes - behind)}.MeetsRange(begin, end);
  };
  return !common_from(a, b) && !common_from(b, a);
}

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_BYTE_COLUMNS_H_
