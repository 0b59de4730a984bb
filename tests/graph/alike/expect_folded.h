// Whether folding ranks that are alike (graph/alike) makes what is made of each by itself.
#ifndef PARTITA_TESTS_GRAPH_ALIKE_EXPECT_FOLDED_H_
#define PARTITA_TESTS_GRAPH_ALIKE_EXPECT_FOLDED_H_

#include "graph/ir/program.h"
#include "graph/make_schedule.h"

namespace partita {

// Expects of every entry point that the schedules of all ranks, made together, are to the last field those that are
// made one by one, and that they are proven. Returns of how many ranks the schedule is that of another, displaced.
int ExpectFolded(const Program& program, const KernelCatalogue& kernels, const ScheduleOptions& options = {});

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_ALIKE_EXPECT_FOLDED_H_
