// Which ranks wait for which, from the ranks' records.
//
// A rank waits for the ranks of the group that have not reached its collective. The program orders the collectives of a
// rank, so a rank that others wait for and that waits for none is where a job stalls. Records are passed in the order
// of their ranks, at most one of each.
#ifndef PARTITA_RUNTIME_FLIGHT_RECORDER_WAITS_H_
#define PARTITA_RUNTIME_FLIGHT_RECORDER_WAITS_H_

#include <span>
#include <string>
#include <vector>

#include "runtime/flight_recorder/flight_record.h"

namespace partita {

// The operations of a rank that have not ended.
std::vector<const FlownOperation*> PendingOf(const FlightRecord& record);

// The ranks of the group that have not reached an operation of `record`; ranks without a record only if all others have
// reached it. Empty if the ranks of the group are unknown, or call it in pairs.
std::vector<int> MissingIn(std::span<const FlightRecord> records, const FlightRecord& record,
                           const FlownOperation& operation);

// The end of the chain of waits that begins at `rank`: a rank that waits for none, or has no record. It is `rank`
// itself if it is in no collective, or in one that every rank has reached, unless another rank is still at work there.
int RootOfWait(std::span<const FlightRecord> records, int rank);

// "all_reduce of 100 f32 (sequence number 17)".
std::string Describe(const FlownOperation& operation);

// "group 5 [0,2,3]": with its ranks. Those below 0 are not a program's.
std::string GroupName(const FlightRecord& record, int group);

}  // namespace partita

#endif  // PARTITA_RUNTIME_FLIGHT_RECORDER_WAITS_H_
