#include "graph/prove/content_log.h"

#include <iterator>

#include "graph/prove/access_log.h"
#include "runtime/base/status.h"

namespace partita {

ContentLog::ContentLog(const Schedule& schedule)
    : schedule_(schedule), opened_(schedule.tensors.size()), becomes_(schedule.tensors.size(), kNoTensor) {
  for (const CarriedTensor& carried : schedule.carried) becomes_[carried.state] = carried.update;
  for (const Placement* const state : StatePlacements()) {
    Put({state->offset, state->tensor.bytes()}, {state->content, state->offset, kBeforeTheStep, true});
  }
}

std::vector<const Placement*> ContentLog::StatePlacements() const {
  std::vector<const Placement*> all;
  for (const Placement& state : schedule_.states) {
    if (state.offset >= 0) all.push_back(&state);
  }
  for (const RoundedState& rounded : schedule_.rounded) all.push_back(&rounded.placement);
  return all;
}

absl::Status ContentLog::AddStep() {
  for (size_t l = 0; l < schedule_.launches.size(); ++l) {
    for (const bool write : {false, true}) {  // a launch reads before it writes
      for (const Access& access : schedule_.launches[l].accesses) {
        if (access.write != write || access.tensor == kNoTensor) continue;
        RETURN_IF_ERROR(write ? Write(access, static_cast<int>(l)) : Read(access, static_cast<int>(l)));
      }
    }
  }
  ++step_;
  return CarryStates();
}

void ContentLog::Put(const ByteRange& range, const Cell& cell) {
  const auto [first, stop] = cells_.Cut(range);
  cells_.Replace(first, stop, cell);
}

absl::Status ContentLog::Read(const Access& access, int launch) {
  const auto [first, stop] = cells_.Cut(access.range);
  for (auto at = first; at != stop; ++at) {
    const auto next = std::next(at);
    const int64_t end = next == stop ? access.end() : next->first;
    if (!access.columns.MeetsRange(at->first, end)) continue;
    const Cell& cell = at->second;
    const bool meant = cell.tensor == access.tensor && cell.origin == access.origin;
    if (meant && (cell.written || access.gaps)) continue;
    return Internal("launch {} reads '{}' at bytes [{}, {}), {}", DescribeLaunch(schedule_, launch),
                    Name(access.tensor), at->first, end, Now(cell, access.tensor));
  }
  return absl::OkStatus();
}

absl::Status ContentLog::Write(const Access& access, int launch) {
  const int64_t bytes = schedule_.tensors[access.tensor].bytes;
  if (access.range.offset < access.origin || access.end() > access.origin + bytes) {
    return Internal("launch {} writes bytes [{}, {}) as '{}', which lies at [{}, {})",
                    DescribeLaunch(schedule_, launch), access.range.offset, access.end(), Name(access.tensor),
                    access.origin, access.origin + bytes);
  }
  const bool whole = access.range == ByteRange{access.origin, bytes};
  const bool gaps = access.gaps || !access.columns.all();
  Opened& opened = opened_[access.tensor];
  if (opened.step != step_ || opened.origin != access.origin) {
    opened = {step_, access.origin};
    if (gaps || !whole) Put({access.origin, bytes}, {access.tensor, access.origin, launch, false});
  }
  if (gaps) return WriteGaps(access, launch);
  Put(access.range, {access.tensor, access.origin, launch, true});
  return absl::OkStatus();
}

// Where exactly the gaps are does not matter: all bytes of the range must be the tensor's, written or not.
absl::Status ContentLog::WriteGaps(const Access& access, int launch) {
  const auto [first, stop] = cells_.Cut(access.range);
  for (auto at = first; at != stop; ++at) {
    const Cell& cell = at->second;
    if (cell.tensor == access.tensor && cell.origin == access.origin) continue;
    const auto next = std::next(at);
    return Internal("launch {} writes a part of '{}' around bytes [{}, {}), {}", DescribeLaunch(schedule_, launch),
                    Name(access.tensor), at->first, next == stop ? access.end() : next->first,
                    Now(cell, access.tensor));
  }
  cells_.Replace(first, stop, {access.tensor, access.origin, launch, true});
  return absl::OkStatus();
}

// Each state's bytes are those that its update has, and they are the state in the next step.
absl::Status ContentLog::CarryStates() {
  for (const Placement* const state : StatePlacements()) {
    const TensorId update = becomes_[state->content];
    const TensorId meant = update == kNoTensor ? state->content : update;
    const ByteRange range{state->offset, state->tensor.bytes()};
    const auto [first, stop] = cells_.Cut(range);
    for (auto at = first; at != stop; ++at) {
      const Cell& cell = at->second;
      if (cell.tensor == meant && cell.origin == state->offset && cell.written) continue;
      const auto next = std::next(at);
      return Internal("after the step state '{}' is not '{}' at bytes [{}, {}), {}", state->name, Name(meant),
                      at->first, next == stop ? range.offset + range.bytes : next->first, Now(cell, meant));
    }
    cells_.Replace(first, stop, {state->content, state->offset, kBeforeTheStep, true});
  }
  return absl::OkStatus();
}

std::string ContentLog::Now(const Cell& cell, TensorId meant) const {
  if (cell.writer == kNoWriter || (cell.tensor == meant && !cell.written)) return "which no launch has written";
  if (cell.writer == kBeforeTheStep) return fmt::format("where state '{}' lies", Name(cell.tensor));
  return fmt::format("where launch {} has written '{}'", DescribeLaunch(schedule_, cell.writer), Name(cell.tensor));
}

std::string ContentLog::Name(TensorId tensor) const {
  return tensor == kNoTensor ? "nothing" : schedule_.tensors[tensor].name;
}

}  // namespace partita
