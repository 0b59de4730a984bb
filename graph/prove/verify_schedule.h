// Proof that a schedule has no race and that every byte read is the producer's (docs/design.md 5.2). Knows nothing of
// how schedules are made.
//
// Happens-before is built from streams and waits alone, over two steps in a row (streams keep their order across the
// step boundary, and the host begins a step after it ended the one before). It is checked that
// - any two launches that touch common bytes, one of them writing, are ordered; nothing is read that was never written
//   (columns of rows of different lengths are taken for common bytes);
// - every byte that a launch reads is the tensor's that it means: the last launch that wrote the byte wrote it as that
//   byte of that tensor. Before a step the states lie in their places, and after it their updates; no launch
//   overwrites what it reads but where its work may be in place (content_log, operands_apart). Of a tensor that is
//   written in boxes or columns, bytes that no launch writes are not searched for;
// - every declared order edge holds, the host's begin comes before every launch and its end after every launch, and the
//   collectives form one chain in program order;
// - lifetimes that meet in time share no byte, and every access lies inside one that lives then;
// - the declared accesses cover what the work touches, and lie in the arena;
// - waits are for earlier launches of other streams, so that nothing can deadlock.
#ifndef PARTITA_GRAPH_PROVE_VERIFY_SCHEDULE_H_
#define PARTITA_GRAPH_PROVE_VERIFY_SCHEDULE_H_

#include <span>

#include "absl/status/status.h"
#include "graph/schedule/schedule.h"

namespace partita {

// kInternal names what is wrong: both launches and the byte range of a race. n log n in the launches.
absl::Status VerifySchedule(const Schedule& schedule);

// The same for the schedules of several ranks; names the rank too. One whose launches touch the same bytes on the same
// streams after the same waits as an earlier one's is proven by that one's proof.
absl::Status VerifySchedules(std::span<const Schedule* const> schedules);
absl::Status VerifySchedules(std::span<const Schedule> schedules);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROVE_VERIFY_SCHEDULE_H_
