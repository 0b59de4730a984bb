// What ends a step, without a GPU: updates of many parameters, running statistics of many batch norms, and the step's
// scalars go in few launches, and give what they give one by one.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "ops/cuda/launch/optimizer.h"
#include "ops/functors/updates/updates.h"
#include "tests/ops/cuda/many_updates.h"
#include "tests/ops/cuda/own/emulated.h"
#include "tests/ops/host/joint_nodes.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/mixed_updates.h"

namespace partita {
namespace {

// Running statistics of many batch norms in one launch: each as if it were alone. So many do not fit into one.
TEST(EmulatedBatchNorm, RunningStatisticsGoInOneLaunch) {
  for (const auto& [members, launches] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {60, 1}, {500, 2}}) {
    std::vector<LocalNode> nodes;
    for (int64_t m = 0; m < members; ++m) {
      const TensorType stats{DType::kF64, {m % 3 + 1, 2, m * 37 % 300 + 1}}, vector{DType::kF32, {m * 37 % 300 + 1}};
      nodes.push_back(WholeNode("batch_norm_running", {{"momentum", m % 2 == 0 ? 0.1 : 0.3}, {"count", 7 * m + 2}},
                                {stats, vector, vector, TensorType{DType::kI32, {}}}));
    }
    const LocalNode together = Together(nodes);
    const std::vector<Values> inputs = SuitableInputs(together, 5);
    CountingQueue queue;
    const auto found = Emulate(CudaKernelEntries("batch_norm_running").back(), together, inputs, {}, queue);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(queue.calls, launches);
    for (size_t m = 0; m < nodes.size(); ++m) {
      const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(4 * m);
      const std::vector<Values> alone = Emulated(nodes[m], {first, first + 4});
      EXPECT_EQ((*found)[2 * m], alone[0]) << m;
      EXPECT_EQ((*found)[2 * m + 1], alone[1]) << m;
    }
  }
}

// One launch for each table that tensors fill.
TEST(EmulatedSquares, OfManyTensorsGoInOneLaunch) {
  for (const auto& [tensors, launches] : std::vector<std::pair<int, int>>{{1, 1}, {44, 1}, {120, 1}, {1000, 2}}) {
    const LocalNode all = SquaresOf(DType::kF32, UnevenSizes(tensors), false);
    CountingQueue queue;
    const auto found = Emulate(CudaKernelEntries("sum_of_squares").back(), all, SuitableInputs(all, 5), {}, queue);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(queue.calls, launches);
  }
}

TEST(EmulatedSquares, AreTheNodes) {
  for (const int tensors : {1, 44, 120, 1000}) {
    for (const bool narrow : {false, true}) {
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        ExpectSquaresAreTheNodes(dtype, tensors, narrow, [](const LocalNode& node, const std::vector<Values>& inputs) {
          return Emulated(node, inputs);
        });
      }
    }
  }
}

template <typename F>
void ManyTensorsGoInOneLaunch() {
  ExpectManyAreAsEachAlone<F>(600, 2, [](const auto* sets, int count, const auto& scalars, const auto& tensors) {
    CountingQueue queue;
    const int tensor_count = static_cast<int>(tensors.size());
    EXPECT_EQ(launch::Update(DType::kF32, sets, count, scalars, tensors.data(), tensor_count, &queue), kLaunched);
    return queue.calls;
  });
}

TEST(EmulatedUpdates, ManyTensorsGoInOneLaunch) {
#define PARTITA_TRY(F) ManyTensorsGoInOneLaunch<F>();
  PARTITA_UPDATES(PARTITA_TRY)
#undef PARTITA_TRY
}

TEST(EmulatedUpdates, ScalarsOfAStepGoInOneLaunch) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool clipped : {true, false}) {
      ExpectScalarsAreTheNodes(dtype, clipped, [](const LocalNode& node, const std::vector<Values>& inputs) {
        return Emulated(node, inputs);
      });
    }
  }
}

// Also at addresses that no wide access reaches.
TEST(EmulatedUpdates, InMixedPrecisionAreTheCasts) {
  for (const UpdatePhase& rule : UpdatePhases()) {
    for (const bool applied : {true, false}) {
      for (const int64_t misalignment : {0, 8}) {
        ExpectMixedUpdatesAreCasts(rule, applied, [&](const LocalNode& node, const std::vector<Values>& inputs) {
          return Emulated(node, inputs, {.misalignment = misalignment});
        });
      }
    }
  }
}

}  // namespace
}  // namespace partita
