// What tests of joined nodes share: the programs with and without them, and their comparison step by step in f64.
#ifndef PARTITA_TESTS_EQUIVALENCE_FUSIONS_JOINED_PROGRAMS_H_
#define PARTITA_TESTS_EQUIVALENCE_FUSIONS_JOINED_PROGRAMS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "runtime/api/verify_plan.h"
#include "tests/equivalence/cases.h"

namespace partita {

// All of f64, and checked after each pass.
struct JoinedPrograms {
  Program serial;  // one rank, nothing is joined
  Program host;    // the plan, as for the host
  Program gpu;     // the plan, as for a GPU
};
absl::StatusOr<JoinedPrograms> MakeJoinedPrograms(const Case& one);

// Nodes of this op in a training step.
int64_t CountOf(const Program& program, const std::string& op);

// A plan and the serial run, ready for steps from equal states; the plan's ranks have one thread.
absl::StatusOr<std::unique_ptr<PlanVerifier>> StartBoth(Program serial, Program plan, double tolerance = 1e-10,
                                                        OverlapHalo overlap = OverlapHalo::kOff);

// Trains a few steps on batches of images and expects equal values, gradients and updates.
void ExpectEqualSteps(const Case& one, PlanVerifier& verifier, int64_t channels = 1);

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_FUSIONS_JOINED_PROGRAMS_H_
