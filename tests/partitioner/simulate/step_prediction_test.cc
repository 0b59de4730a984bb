// What is predicted of a step of several ranks: of each term the most of any.
#include "partitioner/simulate/step_prediction.h"

#include <gtest/gtest.h>

#include "ops/registry.h"
#include "tests/partitioner/simulate/toy.h"

namespace partita {
namespace {

LocalTensor Tensor(const Shape& shape) { return {DType::kF32, shape, {Shape(shape.size(), 0), shape}}; }

// 12 us at 1 GFLOP/s.
Launch Product() {
  KernelLaunch kernel;
  kernel.node.op = Ops().Find("matmul");
  kernel.node.attributes = {{"transpose_x", false}, {"transpose_w", false}};
  kernel.node.inputs = {Tensor({10, 20}), Tensor({20, 30})};
  kernel.node.outputs = {Tensor({10, 30})};
  Launch launch;
  launch.name = "product";
  launch.work = std::move(kernel);
  return launch;
}

// Rank 0 waits for rank 1, which computes for 12 us, or as measured; then 4 us of an all_reduce of 8,000 bytes.
TEST(StepPrediction, TakesTheMostOfAnyRank) {
  std::vector<Schedule> schedules =
      Schedules({{Work(2), AllReduce(2, 2000, {0})}, {Product(), AllReduce(2, 2000, {0})}});
  schedules[0].memory.total = 900;
  schedules[1].memory.total = 700;
  const std::vector<const Schedule*> by_rank = Pointers(schedules);
  const auto predicted = StepPredictionOf(ToyProgram(), by_rank, ToyCluster(2), {});
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_NEAR(predicted->step * 1e6, 12 + 4, 1e-3);
  EXPECT_NEAR(predicted->compute * 1e6, 12, 1e-3);
  EXPECT_NEAR(predicted->communication * 1e6, 10 + 4, 1e-3) << "of rank 0, with its waiting";
  EXPECT_EQ(predicted->memory_bytes, 900);
  const std::string signature = SignatureOf(std::get<KernelLaunch>(Product().work).node);
  const auto measured = StepPredictionOf(ToyProgram(), by_rank, ToyCluster(2), {{signature, 5e-6}});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_NEAR(measured->step * 1e6, 5 + 4, 1e-3);
  EXPECT_NEAR(measured->compute * 1e6, 5, 1e-3);
}

}  // namespace
}  // namespace partita
