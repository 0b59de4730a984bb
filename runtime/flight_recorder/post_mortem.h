// Diagnoses why a job failed, from the records of its ranks: which ranks waited for which, in which group, at which
// operation, since when.
#ifndef PARTITA_RUNTIME_FLIGHT_RECORDER_POST_MORTEM_H_
#define PARTITA_RUNTIME_FLIGHT_RECORDER_POST_MORTEM_H_

#include <span>
#include <string>
#include <vector>

#include "runtime/flight_recorder/flight_record.h"

namespace partita {

struct PostMortem {
  // kMismatch: two ranks made calls that do not form one collective. kWaited: for `ranks`. kHealthy: no rank waited.
  enum class Cause : uint8_t { kHealthy, kMismatch, kWaited };

  Cause cause = Cause::kHealthy;
  std::vector<int> ranks;  // that it is put down to, ascending
  std::string sentence;
};

// `records`: in the order of their ranks, at most one of each, at least one; of ranks without one it is said that they
// left none.
PostMortem FindCause(std::span<const FlightRecord> records);

// "2026-11-23 05:47:40.123 UTC".
std::string TimeText(int64_t nanoseconds_since_1970);

}  // namespace partita

#endif  // PARTITA_RUNTIME_FLIGHT_RECORDER_POST_MORTEM_H_
