// Who waits for whom, by what ranks recorded.
//
// A rank waits for those of the group that have not come to the collective in which it is. Collectives of a rank follow
// each other as the program says, so who is waited for and waits for nobody is where a job stands still. Records are
// given in the order of their ranks, at most one of each.
#ifndef PARTITA_RUNTIME_FLIGHT_RECORDER_WAITS_H_
#define PARTITA_RUNTIME_FLIGHT_RECORDER_WAITS_H_

#include <span>
#include <string>
#include <vector>

#include "runtime/flight_recorder/flight_record.h"

namespace partita {

// The operations of a rank that have not ended.
std::vector<const FlownOperation*> PendingOf(const FlightRecord& record);

// Of the group's ranks those that have not come to an operation of `record`; those without a record, of which nobody
// knows, only if all others have come. Empty where the ranks of the group are not known, or call it in pairs.
std::vector<int> MissingIn(std::span<const FlightRecord> records, const FlightRecord& record,
                           const FlownOperation& operation);

// At the end of the chain of waits that begins at `rank`: a rank that waits for nobody, or of which there is no record;
// `rank` itself if it is in no collective, or in one that nobody is missing in, unless another is still at work there.
int RootOfWait(std::span<const FlightRecord> records, int rank);

// "all_reduce of 100 f32 (sequence number 17)".
std::string Describe(const FlownOperation& operation);

// "group 5 [0,2,3]": with its ranks. Those below 0 are not a program's.
std::string GroupName(const FlightRecord& record, int group);

}  // namespace partita

#endif  // PARTITA_RUNTIME_FLIGHT_RECORDER_WAITS_H_
