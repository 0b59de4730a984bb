// The schedules of the shipped models: every wait is needed, and collectives cannot change places.
//
// Each single wait of each rank's schedule is removed in turn and must be refused by VerifySchedule; each two
// collectives of a rank that follow each other are swapped in turn and must be refused by VerifyCollectives.
#include "tests/graph/shipped/shipped.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"

namespace partita {
namespace {

class ShippedModels : public testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    const absl::StatusOr<Model> model = GetParam().Load();
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Strategy> strategy = GetParam().LoadSplit();
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    absl::StatusOr<Program> program = MakeProgram(*model, *strategy, Ops(), {.verify_passes = true});
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
    absl::StatusOr<std::vector<Schedule>> schedules = MakeSchedules(program_, program_.graph(kTrainEntry), *kernels);
    ASSERT_TRUE(schedules.ok()) << schedules.status();
    schedules_ = *std::move(schedules);
  }

  Program program_;
  std::vector<Schedule> schedules_;
};

TEST_P(ShippedModels, EveryWaitIsNeeded) {
  int removed = 0;
  for (Schedule& schedule : schedules_) {
    ASSERT_TRUE(VerifySchedule(schedule).ok()) << VerifySchedule(schedule);
    for (Launch& launch : schedule.launches) {
      for (size_t w = 0; w < launch.waits.size(); ++w) {
        const std::vector<int> waits = launch.waits;
        launch.waits.erase(launch.waits.begin() + static_cast<std::ptrdiff_t>(w));
        EXPECT_FALSE(VerifySchedule(schedule).ok())
            << "rank " << schedule.rank << ": '" << launch.name << "' need not wait for '"
            << schedule.launches[waits[w]].name << "'";
        launch.waits = waits;
        ++removed;
      }
    }
  }
  EXPECT_GT(removed, 10);
}

TEST_P(ShippedModels, CollectivesKeepTheirPlaces) {
  ASSERT_TRUE(VerifyCollectives(program_, schedules_).ok()) << VerifyCollectives(program_, schedules_);
  int swapped = 0;
  for (Schedule& schedule : schedules_) {
    Launch* before = nullptr;
    for (Launch& launch : schedule.launches) {
      if (!std::holds_alternative<CollectiveLaunch>(launch.work)) continue;
      if (before != nullptr) {
        std::swap(*before, launch);
        EXPECT_FALSE(VerifyCollectives(program_, schedules_).ok()) << "rank " << schedule.rank << ": " << launch.name;
        std::swap(*before, launch);
        ++swapped;
      }
      before = &launch;
    }
  }
  EXPECT_GT(swapped, 4);
}

INSTANTIATE_TEST_SUITE_P(Examples, ShippedModels, testing::ValuesIn(kShipped), NameOf);

}  // namespace
}  // namespace partita
