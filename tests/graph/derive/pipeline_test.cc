// The orders of graph/derive/pipeline.h: warm-ups, completeness, times and what they keep in memory.
#include "graph/derive/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace partita {
namespace {

constexpr PipelineOrder kOrders[] = {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward,
                                     PipelineOrder::kOverlapFriendly, PipelineOrder::kLocal};

std::vector<int64_t> WarmUps(PipelineOrder order, int stages, int64_t micro_batches) {
  std::vector<int64_t> warm_ups;
  for (int s = 0; s < stages; ++s) warm_ups.push_back(WarmUp(order, stages, micro_batches, s));
  return warm_ups;
}

// The most micro-batches that a stage has done forward and not yet backward.
int64_t MostKept(const std::vector<PipelineTask>& tasks) {
  int64_t kept = 0, most = 0;
  for (const PipelineTask& task : tasks) {
    kept += task.backward ? -1 : 1;
    most = std::max(most, kept);
  }
  return most;
}

TEST(Pipeline, WarmUpsAreThoseOfThePapers) {
  EXPECT_EQ(WarmUps(PipelineOrder::kGPipe, 4, 8), (std::vector<int64_t>{8, 8, 8, 8}));
  EXPECT_EQ(WarmUps(PipelineOrder::kOneForwardOneBackward, 4, 8), (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(WarmUps(PipelineOrder::kOverlapFriendly, 4, 8), (std::vector<int64_t>{7, 5, 3, 1}));
  EXPECT_EQ(WarmUps(PipelineOrder::kOverlapFriendly, 4, 2), (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(WarmUps(PipelineOrder::kLocal, 4, 8), (std::vector<int64_t>{1, 1, 1, 1}));
}

TEST(Pipeline, EveryMicroBatchGoesOnceForwardAndThenOnceBackward) {
  for (const PipelineOrder order : kOrders) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
        for (int s = 0; s < stages; ++s) {
          const std::vector<PipelineTask> tasks = TasksOf(order, stages, micro_batches, s);
          ASSERT_EQ(tasks.size(), static_cast<size_t>(2 * micro_batches));
          for (int64_t m = 0; m < micro_batches; ++m) {
            const auto forward = std::find(tasks.begin(), tasks.end(), PipelineTask{m, false});
            EXPECT_NE(std::find(forward, tasks.end(), PipelineTask{m, true}), tasks.end());
          }
          EXPECT_EQ(MostKept(tasks), WarmUp(order, stages, micro_batches, s));
        }
      }
    }
  }
}

TEST(Pipeline, NothingRunsBeforeWhatItNeedsAndNoStageDoesTwoThingsAtOnce) {
  for (const PipelineOrder order : kOrders) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
        const PipelineTimes times(order, stages, micro_batches);
        for (int s = 0; s < stages; ++s) {
          int64_t last = -1;
          for (const PipelineTask& task : TasksOf(order, stages, micro_batches, s)) {
            EXPECT_GT(times.At(s, task), last);
            last = times.At(s, task);
          }
          for (int64_t m = 0; m < micro_batches; ++m) {
            if (s == 0) continue;
            EXPECT_GT(times.At(s, {m, false}), times.At(s - 1, {m, false}));
            const bool comes_back = order != PipelineOrder::kLocal;
            EXPECT_GT(times.At(s - 1, {m, true}), times.At(comes_back ? s : s - 1, {m, comes_back}));
          }
          EXPECT_LT(last, times.length());
        }
      }
    }
  }
}

// m + S - 1 forwards and as many backwards on the longest way: the bubble of GPipe and of 1F1B alike. Where nothing
// comes back it is half of that.
TEST(Pipeline, TheBubbleIsStagesMinusOne) {
  for (const PipelineOrder order : kOrders) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int64_t micro_batches = stages; micro_batches <= 9; ++micro_batches) {
        const int64_t bubble = (order == PipelineOrder::kLocal ? 1 : 2) * (stages - 1);
        EXPECT_EQ(PipelineTimes(order, stages, micro_batches).length(), 2 * micro_batches + bubble)
            << Name(order) << " " << stages << " stages, " << micro_batches << " micro-batches";
      }
    }
  }
}

TEST(Pipeline, NamesAreFoundAgain) {
  for (const PipelineOrder order : kOrders) EXPECT_EQ(FindPipelineOrder(Name(order)), order);
  EXPECT_EQ(FindPipelineOrder("2f2b"), std::nullopt);
}

}  // namespace
}  // namespace partita
