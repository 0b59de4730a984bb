// The groups G x m of Joo and Youn (IEEE Access 9, 2021; as reconstructed): convolutions are data parallel over all
// workers, dense layers are split over the m workers of a group, and their gradients meet across the G groups. Every
// G x m of 2, 4 and 8 ranks goes the way of one rank for 100 steps, has the communicators that the plan says and no
// other, and moves exactly the bytes of the formula:
//
//   all_reduce(W_conv, all) + sum over dense of all_reduce(W / m, G)
//     + all_gather(B/G d_flat, m) + sum over dense of [ all_gather(B/G d, m) + all_reduce(B/G d_in, m) ]
#include <gtest/gtest.h>

#include <set>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"

namespace partita {
namespace {

constexpr int64_t kWord = 8;  // f64
constexpr int64_t kBatch = 16, kPixels = 6, kClasses = 8;
constexpr int64_t kConvolution = 4 * 3 * 3, kFlat = 36, kHidden = 8;
constexpr int kSteps = 100;

absl::StatusOr<Model> MakeModel() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kBatch, kPixels, kPixels, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kBatch});
  ValueId x = b.Relu("conv/relu", b.Conv2d("conv", images, {.channels = 4, .kernel = 3, .padding = 1}));
  x = b.MaxPool("pool", x, {.kernel = 2, .stride = 2});
  x = b.Flatten("flatten", x);
  x = b.Relu("dense1/relu", b.MatMul("dense1", x, kHidden));
  x = b.MatMul("dense2", x, kClasses);
  const ValueId loss = b.SoftmaxCrossEntropy("loss", x, labels);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(loss, {b.Accuracy("accuracy", x, labels)}));
  model.optimizer = {"sgd", {{"momentum", 0.9}, {"weight_decay", 1e-4}}};
  model.learning_rate.base = 5e-3;
  return model;
}

struct Groups {
  int groups, members;  // G, m
};
std::ostream& operator<<(std::ostream& out, const Groups& g) { return out << g.groups << "x" << g.members; }

class GroupsOfWorkers : public testing::TestWithParam<Groups> {
 protected:
  void SetUp() override {
    absl::StatusOr<Model> model = MakeModel();
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }
  Strategy StrategyOf(LayerSplit dense, InputGradients form = InputGradients::kAllReduce) const {
    const auto& [groups, members] = GetParam();
    return *DataModelStrategy(model_.graph, groups, members, {LayerSplit::kSamples, dense, form});
  }
  Model model_;
};

TEST_P(GroupsOfWorkers, GoTheWayOfOneRank) {
  for (const InputGradients form : {InputGradients::kAllReduce, InputGradients::kReduceScatter}) {
    const absl::Status status = RunSideBySide(model_, StrategyOf(LayerSplit::kChannels, form), kSteps, [](int step) {
      return NamedTensors{SmallImages({kBatch, kPixels, kPixels, 1}, step), SmallLabels(kBatch, kClasses, step)};
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(GroupsOfWorkers, MoveTheBytesOfTheFormula) {
  const absl::StatusOr<Program> program = StepOf(model_, StrategyOf(LayerSplit::kChannels));
  ASSERT_TRUE(program.ok()) << program.status();
  const int64_t groups = GetParam().groups, members = GetParam().members;
  LayerBytes expected;
  const auto add = [&](const std::string& move, const std::string& value, int64_t words) {
    if (words > 0) expected[{move, value}] = words * kWord;
  };
  const auto in_groups = [&](int64_t numbers) { return (members - 1) * kBatch * numbers; };
  add("all_reduce", "conv/weights", 2 * (groups * members - 1) * kConvolution);
  add("all_reduce", "dense1/weights", 2 * (groups - 1) * kFlat * kHidden);
  add("all_reduce", "dense2/weights", 2 * (groups - 1) * kHidden * kClasses);
  add("all_gather", "pool", in_groups(kFlat));
  add("all_gather", "dense1", in_groups(kHidden));
  add("all_gather", "dense2", in_groups(kClasses));
  add("all_reduce", "flatten", 2 * in_groups(kFlat));
  add("all_reduce", "dense1/relu", 2 * in_groups(kHidden));
  EXPECT_EQ(BytesOfLayers(*program), expected);
}

// With the dense layers data parallel as well there is but the world.
TEST_P(GroupsOfWorkers, HaveTheCommunicatorsOfThePlan) {
  const int groups = GetParam().groups, members = GetParam().members;
  std::set<std::vector<int>> world, inside, across;
  std::vector<int> all;
  for (int rank = 0; rank < groups * members; ++rank) all.push_back(rank);
  world.insert(all);
  for (int g = 0; g < groups; ++g) {
    std::vector<int> ranks;
    for (int i = 0; i < members; ++i) ranks.push_back(g * members + i);
    if (members > 1) inside.insert(ranks);
  }
  for (int i = 0; i < members; ++i) {
    std::vector<int> ranks;
    for (int g = 0; g < groups; ++g) ranks.push_back(g * members + i);
    if (groups > 1) across.insert(ranks);
  }
  const auto of = [&](LayerSplit dense) {
    std::set<std::vector<int>> found;
    const absl::StatusOr<Program> program = StepOf(model_, StrategyOf(dense));
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return found;
    for (const CommunicationGroup& group : program->groups) EXPECT_TRUE(found.insert(group.ranks).second);
    return found;
  };
  std::set<std::vector<int>> expected = world;
  expected.insert(inside.begin(), inside.end());
  expected.insert(across.begin(), across.end());
  EXPECT_EQ(of(LayerSplit::kChannels), expected);
  EXPECT_EQ(of(LayerSplit::kSamples), world);
}

INSTANTIATE_TEST_SUITE_P(All, GroupsOfWorkers,
                         testing::Values(Groups{2, 1}, Groups{1, 2}, Groups{4, 1}, Groups{2, 2}, Groups{1, 4},
                                         Groups{8, 1}, Groups{4, 2}, Groups{2, 4}, Groups{1, 8}),
                         testing::PrintToStringParamName());

// 2 |W| against 3 B/G d.
TEST(CheaperSplit, IsBySizeOfWeightsAndActivations) {
  const absl::StatusOr<Model> model = MakeModel();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(CheaperSplit(model->graph, 1, true), LayerSplit::kSamples);
  EXPECT_EQ(CheaperSplit(model->graph, 2, false), LayerSplit::kChannels);  // 704 against 384
  EXPECT_EQ(CheaperSplit(model->graph, 1, false), LayerSplit::kSamples);   // 704 against 768
  // The same bytes over slower links among all: 704 against 76.8; within groups: 704 against 3840.
  EXPECT_EQ(CheaperSplit(model->graph, 1, false, {10, 1}), LayerSplit::kChannels);
  EXPECT_EQ(CheaperSplit(model->graph, 2, false, {1, 10}), LayerSplit::kSamples);
}

}  // namespace
}  // namespace partita
