// Proof that the ranks' collectives meet: nothing can hang, and no rank sends what another does not expect
// (docs/design.md 5.5).
#ifndef PARTITA_GRAPH_PROVE_VERIFY_COLLECTIVES_H_
#define PARTITA_GRAPH_PROVE_VERIFY_COLLECTIVES_H_

#include <span>

#include "absl/status/status.h"
#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"

namespace partita {

// `by_rank`: the schedules of one entry point, of all ranks in the order of ranks; each has passed VerifySchedule, so a
// rank's collectives run in program order. Alike ranks may share the schedule of one of them: another rank makes its
// calls in its own groups by the same keys. Checks that
// - the k-th collective of a group is the same on all its members: kind, dtype, reduction, root, counts that fit;
// - the chains of all ranks embed in one global order, and this is the order of the program's nodes: a rank that leaves
//   it is refused even where the others would not notice.
// kInternal names the two collectives and ranks that do not agree. Linear in the collectives of all ranks (all_to_all:
// times the group's size), with memory for each different schedule and a few words for each rank.
absl::Status VerifyCollectives(const Program& program, std::span<const Schedule* const> by_rank);
absl::Status VerifyCollectives(const Program& program, std::span<const Schedule> schedules);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROVE_VERIFY_COLLECTIVES_H_
