// One schedule for ranks that are alike, and one simulated for those that do the same at the same times: the shipped
// models under their strategies, and under random numbers of replicas and of ranks that share one, on clusters of nodes
// into which groups fit well or badly. Every launch begins and ends, to the last bit, when it does in a simulation of
// all ranks by their own schedules.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/simulate/simulate.h"
#include "tests/graph/shipped/shipped.h"

namespace partita {
namespace {

// Nodes of so many devices: host, where others on the cores slow down, or GPUs; 2 us and 10 GB/s within, 5 us and 1
// GB/s to others.
Cluster NodesOf(int devices, int nodes, BackendKind backend) {
  DeviceKind kind{"d", backend, int64_t{1} << 40, 10e9, {{DType::kF32, 1e10}}};
  kind.compute_capability = backend == BackendKind::kCuda ? 80 : 0;
  kind.cores_shared = backend == BackendKind::kHost;
  if (kind.cores_shared) kind.slowdown = {{1, 1}, {2, 1.7}};
  kind.wake_seconds = 3e-6;
  const Link inside{Fabric::kNvlink, 10e9, 2e-6, 1}, outside{Fabric::kNetwork, 1e9, 5e-6, 1};
  const auto cluster = MakeCluster(
      {"nodes", {kind}, {{"rack", "", 1, "", 0, outside, {}}, {"node", "rack", nodes, "d", devices, inside, outside}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

void ExpectEqual(const RankTimeline& folded, const RankTimeline& alone) {
  ASSERT_EQ(folded.spans.size(), alone.spans.size());
  for (size_t l = 0; l < folded.spans.size(); ++l) {
    ASSERT_EQ(folded.spans[l].launch->name, alone.spans[l].launch->name);
    ASSERT_EQ(folded.spans[l].begin, alone.spans[l].begin) << folded.spans[l].launch->name;
    ASSERT_EQ(folded.spans[l].end, alone.spans[l].end) << folded.spans[l].launch->name;
  }
}

class FoldedSimulation : public testing::TestWithParam<Shipped> {
 protected:
  static void TearDownTestSuite() {
    std::cout << folded_ << " of " << ranks_ << " ranks were simulated by others\n";
    EXPECT_GT(folded_, ranks_ / 3);
  }

  static void Expect(const Model& model, const Strategy& strategy) {
    const absl::StatusOr<Program> program = MakeProgram(model, strategy, Ops());
    if (!program.ok()) return;  // cuts may be said of so many ranks alone
    const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
    const Graph& train = program->graph(kTrainEntry);
    const auto all = MakeSchedules(*program, train, *kernels);
    const auto one_of_each = MakeFoldedSchedules(*program, train, *kernels);
    ASSERT_TRUE(all.ok() && one_of_each.ok()) << all.status() << one_of_each.status();
    std::vector<const Schedule*> pointers;
    for (const Schedule& schedule : *all) pointers.push_back(&schedule);
    for (const int devices : {1, 2, 3}) {
      const BackendKind backend = devices == 3 ? BackendKind::kCuda : BackendKind::kHost;
      const Cluster cluster = NodesOf(devices, program->ranks(), backend);
      const auto alone = Simulate(*program, pointers, cluster, {.fold = false});
      const auto folded = Simulate(*program, one_of_each->ByRank(), cluster);
      ASSERT_TRUE(alone.ok() && folded.ok()) << alone.status() << folded.status();
      EXPECT_EQ(alone->timelines.size(), all->size());
      for (int rank = 0; rank < program->ranks(); ++rank) ExpectEqual(folded->Of(rank), alone->Of(rank));
      ranks_ += program->ranks();
      folded_ += program->ranks() - static_cast<int>(folded->timelines.size());
    }
  }

  static inline int ranks_ = 0, folded_ = 0;
};

TEST_P(FoldedSimulation, IsThatOfEachRank) {
  const absl::StatusOr<Model> model = GetParam().Load();
  const absl::StatusOr<Strategy> shipped = GetParam().LoadSplit();
  ASSERT_TRUE(model.ok() && shipped.ok()) << model.status() << shipped.status();
  ASSERT_TRUE(MakeProgram(*model, *shipped, Ops()).ok());
  Expect(*model, *shipped);
  Strategy wider = *shipped;
  wider.mesh.axes[0].size *= 3;
  Expect(*model, wider);
  std::mt19937 random(static_cast<unsigned>(std::string(GetParam().strategy).size()));
  const int data = 1 + static_cast<int>(random() % 6), ranks = 1 + static_cast<int>(random() % 3);
  SCOPED_TRACE(testing::Message() << "--dp=" << data << " --mp=" << ranks);
  const absl::StatusOr<Strategy> drawn = DataModelStrategy(model->graph, data, ranks);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  Expect(*model, *drawn);
}

INSTANTIATE_TEST_SUITE_P(Examples, FoldedSimulation, testing::ValuesIn(kShipped), NameOf);

}  // namespace
}  // namespace partita
