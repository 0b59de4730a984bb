// What is chosen is what a simulated step of the compiled plan says.
#include "partitioner/choose/choose_strategy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/simulate/simulate.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/models.h"

namespace partita {
namespace {

TEST(ChooseStrategy, ComparesSimulatedSteps) {
  absl::StatusOr<Model> model = MakeModel("lenet5", {.batch = 16}, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  model->learning_rate.steps = 1;
  const Cluster cluster = FourDevices();
  const KernelTimes times;
  const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
  const ChooseRequest request{.model = *model,
                              .ranks = 4,
                              .searches = {std::begin(kSearches), std::end(kSearches)},
                              .basis = {Ops(), cluster, times},
                              .program = {},
                              .kernels = *kernels,
                              .schedule = {}};
  const auto finalists = ChooseStrategy(request);
  ASSERT_TRUE(finalists.ok()) << finalists.status();
  int compiled = 0;
  double before = 0;
  for (const Finalist& finalist : *finalists) {
    if (!finalist.status.ok()) continue;
    ++compiled;
    EXPECT_GE(finalist.seconds, before);
    before = finalist.seconds;
    SCOPED_TRACE(finalist.candidate.plan);
    const auto program = MakeProgram(*model, finalist.candidate.strategy, Ops());
    ASSERT_TRUE(program.ok()) << program.status();
    const auto schedules = MakeSchedules(*program, program->graph(kTrainEntry), *kernels);
    ASSERT_TRUE(schedules.ok()) << schedules.status();
    std::vector<const Schedule*> by_rank;
    for (const Schedule& schedule : *schedules) by_rank.push_back(&schedule);
    const auto step = Simulate(*program, by_rank, cluster, {.fold = false});
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(finalist.seconds, step->seconds());
  }
  EXPECT_GT(compiled, 3);
}

// Also where a search compares plans of the searches within it, and of these only the ones that fit.
TEST(ChooseStrategy, FinalistsOfASearchHaveDifferentNames) {
  absl::StatusOr<Model> model = MakeModel("lenet5", {.batch = 16}, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  model->learning_rate.steps = 1;
  const Cluster cluster = FourDevices();
  const KernelTimes times;
  const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
  for (const int64_t bytes : {0, 1'400'000}) {
    for (const SearchKind search : kSearches) {
      SCOPED_TRACE(fmt::format("{}, {} bytes", Name(search), bytes));
      const ChooseRequest request{.model = *model,
                                  .ranks = 4,
                                  .searches = {search},
                                  .basis = {Ops(), cluster, times},
                                  .memory_bytes = bytes,
                                  .program = {},
                                  .kernels = *kernels,
                                  .schedule = {}};
      const auto finalists = FindFinalists(request);
      ASSERT_TRUE(finalists.ok()) << finalists.status();
      std::set<std::string> names;
      for (const Finalist& one : *finalists) {
        if (one.seconds > 0) {
          EXPECT_TRUE(names.insert(one.candidate.plan).second) << one.candidate.plan;
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
