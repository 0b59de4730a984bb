// Schedules of the shipped models under many splits: verified, and they move exactly the bytes that layouts predict.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tests/graph/schedule/schedule_testing.h"
#include "tools/models/models.h"

namespace partita {
namespace {

int64_t Others(const std::vector<int64_t>& counts, int self) {
  int64_t sum = 0;
  for (size_t r = 0; r < counts.size(); ++r) sum += static_cast<int>(r) == self ? 0 : counts[r];
  return sum;
}

// What the call of one member adds to its group's bytes. `self`: its position.
MoveBytes BytesOfCall(const CollectiveLaunch& call, int self, int64_t ranks) {
  const int64_t element = SizeOf(call.dtype);
  if (call.kind == CollectiveKind::kAllToAll) {
    const int64_t sent = Others(call.send_counts, self) * element;
    return {sent, sent};
  }
  if (self != 0) return {};  // the others are counted once for the group
  const bool full_at_end = call.kind == CollectiveKind::kAllGather || call.kind == CollectiveKind::kBroadcast;
  const int64_t n = (full_at_end ? call.output_count : call.input_count) * element;
  return {n, (call.kind == CollectiveKind::kAllReduce ? 2 : 1) * (ranks - 1) * n};
}

std::vector<MoveBytes> CountBytes(const Program& program, const std::vector<Schedule>& schedules) {
  std::vector<MoveBytes> bytes(program.groups.size());
  for (const Schedule& schedule : schedules) {
    for (const Launch& launch : schedule.launches) {
      const auto* call = std::get_if<CollectiveLaunch>(&launch.work);
      if (call == nullptr) continue;
      const std::vector<int>& ranks = program.groups[call->group].ranks;
      const auto self = std::find(ranks.begin(), ranks.end(), schedule.rank) - ranks.begin();
      bytes[call->group] += BytesOfCall(*call, static_cast<int>(self), static_cast<int64_t>(ranks.size()));
    }
  }
  return bytes;
}

struct Split {
  std::string model;
  int data = 1, ranks_of_model = 1;
  int64_t batch = 8;
};

std::ostream& operator<<(std::ostream& out, const Split& split) {
  return out << split.model << " data:" << split.data << " model:" << split.ranks_of_model << " batch " << split.batch;
}

class ShippedModels : public testing::TestWithParam<Split> {
 protected:
  void SetUp() override {
    absl::StatusOr<Model> model = MakeModel(GetParam().model, {.batch = GetParam().batch, .image_size = 12}, Ops());
    ASSERT_TRUE(model.ok()) << model.status();
    model->learning_rate.steps = 10;  // the trainer knows it from the epochs
    const absl::StatusOr<Strategy> strategy =
        DataModelStrategy(model->graph, GetParam().data, GetParam().ranks_of_model);
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    absl::StatusOr<Program> program = MakeProgram(*model, *strategy, Ops(), {.verify_passes = true});
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
  }

  void Check(const Graph& entry, int compute_streams, bool group_updates = false) {
    const ScheduleOptions options{.compute_streams = compute_streams, .group_updates = group_updates};
    const std::vector<Schedule> schedules = SchedulesOf(program_, entry, options, 1000);
    for (const Schedule& schedule : schedules) {
      const absl::Status status = VerifySchedule(schedule);
      ASSERT_TRUE(status.ok()) << "rank " << schedule.rank << ": " << status;
    }
    const absl::Status status = VerifyCollectives(program_, schedules);
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<MoveBytes> counted = CountBytes(program_, schedules);
    const std::vector<MoveBytes> predicted = PredictBytes(program_, entry);
    for (size_t g = 0; g < counted.size(); ++g) {
      const std::string group = ToString(program_.groups[g], program_.meshes);
      EXPECT_EQ(counted[g].payload, predicted[g].payload) << group;
      EXPECT_EQ(counted[g].wire, predicted[g].wire) << group;
    }
  }

  Program program_;
};

TEST_P(ShippedModels, TrainingIsProvenAndMovesWhatIsPredicted) { Check(program_.graph(kTrainEntry), 1); }
TEST_P(ShippedModels, EvaluationIsProvenAndMovesWhatIsPredicted) { Check(program_.graph(kEvaluateEntry), 1); }
TEST_P(ShippedModels, TrainingOnThreeStreamsIsProven) { Check(program_.graph(kTrainEntry), 3); }

// By op.
TEST_P(ShippedModels, OneLaunchForAllUpdatesIsProven) {
  for (const int streams : {1, 3}) Check(program_.graph(kTrainEntry), streams, true);
  const ScheduleOptions options{.group_updates = true};
  const auto updates = [](const Schedule& schedule) {
    std::map<std::string, std::vector<int>> members;
    for (const Launch& launch : schedule.launches) {
      const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
      if (kernel == nullptr || kernel->node.op->together.empty()) continue;
      members[kernel->node.op->name].push_back(kernel->node.members);
    }
    return members;
  };
  const std::vector<Schedule> alone = SchedulesOf(program_, program_.graph(kTrainEntry));
  const std::vector<Schedule> grouped = SchedulesOf(program_, program_.graph(kTrainEntry), options);
  for (size_t rank = 0; rank < alone.size(); ++rank) {
    std::map<std::string, std::vector<int>> expected = updates(alone[rank]);
    EXPECT_GT(expected["sgd_momentum"].size(), 3u);
    for (auto& [op, members] : expected) members = {static_cast<int>(members.size())};
    EXPECT_EQ(updates(grouped[rank]), expected);
    EXPECT_LE(grouped[rank].memory.total, alone[rank].memory.total * 11 / 10);
  }
}

TEST_P(ShippedModels, BothEntryPointsHaveTheStatesAtTheSamePlaces) {
  const std::vector<Schedule> train = SchedulesOf(program_, program_.graph(kTrainEntry));
  const std::vector<Schedule> evaluate = SchedulesOf(program_, program_.graph(kEvaluateEntry));
  for (size_t rank = 0; rank < train.size(); ++rank) {
    ASSERT_EQ(train[rank].states.size(), evaluate[rank].states.size());
    for (size_t s = 0; s < train[rank].states.size(); ++s) {
      EXPECT_EQ(train[rank].states[s].offset, evaluate[rank].states[s].offset) << train[rank].states[s].name;
    }
  }
}

// What updates a state comes behind all that reads it as it was: it writes in place.
TEST_P(ShippedModels, NoStateIsCopied) {
  for (const Schedule& schedule : SchedulesOf(program_, program_.graph(kTrainEntry))) {
    EXPECT_EQ(FindLaunch(schedule, "store states"), -1) << "rank " << schedule.rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, ShippedModels,
                         testing::Values(Split{"mlp", 1, 1}, Split{"mlp", 3, 2}, Split{"lenet5", 1, 1},
                                         Split{"lenet5", 2, 1}, Split{"lenet5", 1, 3}, Split{"lenet5", 2, 2},
                                         Split{"lenet5", 4, 1, 2}, Split{"mini-inception", 2, 1},
                                         Split{"mini-inception", 2, 2}));

}  // namespace
}  // namespace partita
