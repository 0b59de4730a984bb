// Inception-V3 as it is, 299 x 299 pixels with the auxiliary head, under the strategies that are shipped for it: all
// ranks get schedules without races and collectives that meet, and each strategy shares the work as it says.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ir/node_flops.h"
#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/proto_io/proto_io.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Shipped {
  const char* strategy;
  int64_t micro_batch;  // samples
  double most;          // of all work, what the busiest rank has
};

double Work(const Schedule& schedule) {
  double flops = 0;
  for (const Launch& launch : schedule.launches) {
    if (const auto* const kernel = std::get_if<KernelLaunch>(&launch.work)) flops += FlopsOf(kernel->node);
  }
  return flops;
}

class InceptionV3 : public testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    ModelOptions options{.statistics_samples = GetParam().micro_batch, .auxiliary_head = true};
    absl::StatusOr<Model> model = MakeModel("inception-v3", options, Ops());
    ASSERT_TRUE(model.ok()) << model.status();
    const std::string file = std::string("tools/models/examples/inception_v3/") + GetParam().strategy + ".pbtxt";
    const absl::StatusOr<Strategy> strategy = LoadStrategy(file);
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    absl::StatusOr<Program> program = MakeProgram(*model, *strategy, Ops(), {});
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
  }

  Program program_;
};

TEST_P(InceptionV3, IsProvenAndShared) {
  const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
  const auto schedules = MakeSchedules(program_, program_.graph(kTrainEntry), *kernels);
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  double all = 0, most = 0;
  for (const Schedule& schedule : *schedules) {
    EXPECT_TRUE(VerifySchedule(schedule).ok()) << VerifySchedule(schedule);
    all += Work(schedule);
    most = std::max(most, Work(schedule));
  }
  EXPECT_TRUE(VerifyCollectives(program_, *schedules).ok()) << VerifyCollectives(program_, *schedules);
  EXPECT_LE(most / all, GetParam().most);
}

INSTANTIATE_TEST_SUITE_P(Shipped, InceptionV3,
                         testing::Values(Shipped{"data", 0, 0.25}, Shipped{"branches", 0, 0.7},
                                         Shipped{"rows", 0, 0.51}, Shipped{"2x2", 0, 0.3}, Shipped{"pipeline", 8, 0.3},
                                         Shipped{"pipeline_2x2", 0, 0.3}),
                         [](const auto& shipped) { return "By_" + std::string(shipped.param.strategy); });

}  // namespace
}  // namespace partita
