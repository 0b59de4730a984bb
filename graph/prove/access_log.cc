#include "graph/prove/access_log.h"

#include <algorithm>
#include <iterator>

#include "runtime/base/status.h"

namespace partita {

std::string DescribeLaunch(const Schedule& schedule, int launch) {
  return fmt::format("{} '{}' (stream {})", launch, schedule.launches[launch].name, schedule.launches[launch].stream);
}

AccessLog::AccessLog(const Schedule& schedule, const HappensBefore& ordered) : schedule_(schedule), ordered_(ordered) {
  for (const Placement& state : schedule.states) BeginWith(state);
  for (const RoundedState& rounded : schedule.rounded) BeginWith(rounded.placement);
}

void AccessLog::BeginWith(const Placement& state) {
  if (state.offset < 0) return;
  const auto [first, stop] = cells_.Cut({state.offset, state.tensor.bytes()});
  cells_.Replace(first, stop, {kBeforeTheSteps, {}});
}

absl::Status AccessLog::Add(const Access& access, int launch) {
  const auto [first, stop] = cells_.Cut(access.range);
  for (auto cell = first; cell != stop; ++cell) {
    const auto next = std::next(cell);
    const ByteRange common{cell->first, (next == stop ? access.end() : next->first) - cell->first};
    if (!access.columns.MeetsRange(common.offset, common.offset + common.bytes)) continue;
    RETURN_IF_ERROR(Check(cell->second, access, launch, common));
    if (!access.columns.all()) {
      AddColumns(cell->second, access, launch);
    } else if (!access.write) {
      AddReader(cell->second, launch);
    }
  }
  if (access.write && access.columns.all()) cells_.Replace(first, stop, {launch, {}});
  return absl::OkStatus();
}

absl::Status AccessLog::Check(const Cell& cell, const Access& access, int launch, const ByteRange& common) const {
  if (!access.write && cell.writer == kNobody && !ColumnsAreWritten(cell, access.columns, common)) {
    return Internal("launch {} reads bytes [{}, {}) that nobody has written", At(launch), common.offset,
                    common.offset + common.bytes);
  }
  if (cell.writer >= 0 && !Ordered(cell.writer, launch)) return Race(cell.writer, "writes", access, launch, common);
  RETURN_IF_ERROR(CheckColumns(cell, access, launch, common));
  if (!access.write) return absl::OkStatus();
  for (int reader : cell.readers) {
    if (!Ordered(reader, launch)) return Race(reader, "reads", access, launch, common);
  }
  return absl::OkStatus();
}

absl::Status AccessLog::CheckColumns(const Cell& cell, const Access& access, int launch,
                                     const ByteRange& common) const {
  for (const ColumnAccess& earlier : cell.columns) {
    if ((!access.write && !earlier.write) || Ordered(earlier.launch, launch)) continue;
    if (Apart(access.columns, earlier.columns, common.offset, common.offset + common.bytes)) continue;
    return Race(earlier.launch, earlier.write ? "writes" : "reads", access, launch, common);
  }
  return absl::OkStatus();
}

// Whether all bytes of a cell that `wanted` has are in columns that were written; those of rows of one length.
bool AccessLog::ColumnsAreWritten(const Cell& cell, const ByteColumns& wanted, const ByteRange& bytes) {
  return std::ranges::any_of(cell.columns, [&](const ColumnAccess& like) {
    const int64_t pitch = like.columns.pitch;
    const int64_t end = bytes.offset + std::min(bytes.bytes, pitch);  // what follows repeats it
    for (int64_t at = bytes.offset; at < end;) {
      const auto has = [&](const ColumnAccess& written) {
        return written.write && written.columns.pitch == pitch && written.columns.Has(at);
      };
      if (wanted.pitch == pitch && !wanted.Has(at)) {
        at = wanted.From(at);
      } else if (const auto writer = std::ranges::find_if(cell.columns, has); writer != cell.columns.end()) {
        at = writer->columns.EndOfRun(at);
      } else {
        return false;
      }
    }
    return true;
  });
}

absl::Status AccessLog::Race(int first, const char* does, const Access& access, int launch,
                             const ByteRange& common) const {
  return Internal("race: launch {} {} and launch {} {} bytes [{}, {}), and nothing orders them", At(first), does,
                  At(launch), access.write ? "writes" : "reads", common.offset, common.offset + common.bytes);
}

std::string AccessLog::At(int launch) const {
  const int launches = static_cast<int>(schedule_.launches.size());
  return DescribeLaunch(schedule_, launch % launches) + (launch >= launches ? " of the next step" : "");
}

void AccessLog::AddReader(Cell& cell, int launch) const {
  for (int& reader : cell.readers) {
    if (StreamOf(reader) != StreamOf(launch)) continue;
    reader = launch;
    return;
  }
  cell.readers.push_back(launch);
}

// A write comes after all that touched the same columns, a read after those of its stream.
void AccessLog::AddColumns(Cell& cell, const Access& access, int launch) const {
  std::erase_if(cell.columns, [&](const ColumnAccess& earlier) {
    if (earlier.columns != access.columns) return false;
    return access.write || (!earlier.write && StreamOf(earlier.launch) == StreamOf(launch));
  });
  cell.columns.push_back({access.columns, access.write, launch});
}

}  // namespace partita
