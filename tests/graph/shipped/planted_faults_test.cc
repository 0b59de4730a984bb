// Plans of memory with one mistake, of the shipped models under the shipped strategies: VerifySchedule refuses each
// mistake by which a launch reads a foreign byte.
#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/graph/prove/planted_plan.h"
#include "tests/graph/shipped/shipped.h"

namespace partita {
namespace {

class PlantedInShipped : public testing::TestWithParam<Shipped> {};

TEST_P(PlantedInShipped, AreRefused) {
  const absl::StatusOr<Model> model = GetParam().Load();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Strategy> strategy = GetParam().LoadSplit();
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  const absl::StatusOr<Program> program = MakeProgram(*model, *strategy, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
  PlantedFaults planted;
  for (int rank = 0; rank < program->ranks(); ++rank) {
    for (const EntryPoint& entry : program->entries) {
      const bool large = entry.graph.nodes().size() > 250;  // a walk over all words takes a second
      if (large && rank + 1 < program->ranks()) continue;
      SCOPED_TRACE(entry.name);
      const PlantedPlan plan(*program, entry.graph, rank, *kernels, /*grouped=*/rank % 2 == 1);
      planted += plan.ExpectRefused(static_cast<uint64_t>(rank), large ? 6 : 18);
    }
  }
  EXPECT_GE(planted.refused, 3);
}

INSTANTIATE_TEST_SUITE_P(Examples, PlantedInShipped, testing::ValuesIn(kShipped), NameOf);

}  // namespace
}  // namespace partita
