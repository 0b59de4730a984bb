#include "tests/equivalence/fusions/joined_programs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int kSteps = 3;

}  // namespace

absl::StatusOr<JoinedPrograms> MakeJoinedPrograms(const Case& one) {
  ASSIGN_OR_RETURN(const Model model, MakeSmallModel(one, 1e-2));
  const ProgramOptions apart{.floating = DType::kF64, .fuse = false, .verify_passes = true};
  const ProgramOptions host{.floating = DType::kF64, .verify_passes = true};
  const ProgramOptions gpu{.floating = DType::kF64, .for_gpu = true, .verify_passes = true};
  JoinedPrograms programs;
  ASSIGN_OR_RETURN(programs.serial, SerialProgram(model, apart));
  ASSIGN_OR_RETURN(programs.host, PlanOf(one, model, host));
  ASSIGN_OR_RETURN(programs.gpu, PlanOf(one, model, gpu));
  return programs;
}

int64_t CountOf(const Program& program, const std::string& op) {
  return std::ranges::count(program.graph(kTrainEntry).nodes(), op, [](const Node& node) { return node.op->name; });
}

absl::StatusOr<std::unique_ptr<PlanVerifier>> StartBoth(Program serial, Program plan, double tolerance,
                                                        OverlapHalo overlap) {
  VerifyPlanOptions options;
  options.session.overlap_halo = overlap;
  options.session.threads_per_rank = 1;
  options.tolerance = tolerance;
  options.floor = 1e-6;
  options.same_beginning = false;
  return PlanVerifier::Start(std::move(serial), std::move(plan), options);
}

void ExpectEqualSteps(const Case& one, PlanVerifier& verifier, int64_t channels) {
  EXPECT_FALSE(verifier.gradients().empty());
  for (int step = 0; step < kSteps; ++step) {
    const StepInputs batch = MakeBatch(2, step, DType::kF64, BatchOf(one), channels);
    ASSERT_TRUE(verifier.StageInput("images", batch.images).ok());
    ASSERT_TRUE(verifier.StageInput("labels", batch.labels).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier.Step());
    const TensorDifference* const first = comparison.First();
    ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
  }
}

}  // namespace partita
