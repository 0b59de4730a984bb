// The schedules of the shipped models: every wait is needed, and collectives cannot change places.
//
// Each single wait of each rank's schedule is removed in turn and must be refused by VerifySchedule; each two
// collectives of a rank that follow each other are swapped in turn and must be refused by VerifyCollectives.
#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/proto_io/proto_io.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"

namespace partita {
namespace {

struct Shipped {
  const char* model;
  const char* strategy;
};

class ShippedModels : public testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    const std::string folder = "tools/models/examples/";
    absl::StatusOr<Model> model = LoadModel(folder + GetParam().model + ".pbtxt", Ops());
    ASSERT_TRUE(model.ok()) << model.status();
    model->learning_rate.steps = 100;
    const absl::StatusOr<Strategy> strategy = LoadStrategy(folder + GetParam().strategy + ".pbtxt");
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

INSTANTIATE_TEST_SUITE_P(Examples, ShippedModels,
                         testing::Values(Shipped{"mini_inception", "mini_inception_2x2"},
                                         Shipped{"mini_inception", "mini_inception_mixed"},
                                         Shipped{"mini_inception", "mini_inception_domain"},
                                         Shipped{"lenet5", "lenet5_data_model"}, Shipped{"lenet5", "lenet5_placement"},
                                         Shipped{"lenet5", "lenet5_mixed"}, Shipped{"lenet5", "lenet5_pipeline"},
                                         Shipped{"lenet5", "lenet5_domain"}, Shipped{"lenet5", "lenet5_groups"},
                                         Shipped{"lenet5", "lenet5_grid"}, Shipped{"lenet5", "lenet5_workers"},
                                         Shipped{"lenet5", "lenet5_meshes"}, Shipped{"mlp", "mlp_data_model"},
                                         Shipped{"mlp", "mlp_placement"}, Shipped{"mlp", "mlp_mixed"},
                                         Shipped{"mlp", "mlp_classes"}),
                         [](const auto& shipped) { return std::string(shipped.param.strategy); });

}  // namespace
}  // namespace partita
