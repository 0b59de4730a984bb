// A simulated step ends after a bounded number of events, whatever the durations are: of random schedules whose
// launches take nothing, next to nothing, equally long or years, and of random strategies of small networks, some ranks
// of which have no channel of a layer at all.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"
#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/simulate/simulate.h"
#include "tests/partitioner/simulate/toy.h"
#include "tools/models/models.h"

namespace partita {
namespace {

using Random = std::mt19937;

size_t Draw(Random& random, size_t most) { return random() % most; }

// Two nodes of two devices, which slow each other down where they share cores and sleep before they wait.
Cluster Nodes(bool cores_shared, double wake_seconds) {
  Cluster cluster = ToyCluster(2, cores_shared);
  if (cores_shared) cluster.kinds[0].slowdown = {{1, 1}, {2, 1.7}};
  cluster.kinds[0].wake_seconds = wake_seconds;
  return cluster;
}

// Of all four ranks: the collectives of the groups in one order, between kernels on both streams.
std::vector<std::vector<Launch>> RandomLaunches(Random& random) {
  static constexpr double kMicroseconds[] = {0, 0.0005, 0.001, 1, 1, 1, 3, 1e6, 4e14};
  static constexpr int64_t kElements[] = {0, 0, 1, 250, 1 << 20, int64_t{1} << 40};
  const Program program = ToyProgram();
  std::vector<std::vector<Launch>> launches(4);
  const auto waits = [&](const std::vector<Launch>& own) {
    std::vector<int> before;
    if (!own.empty() && Draw(random, 2) == 0) before.push_back(static_cast<int>(Draw(random, own.size())));
    return before;
  };
  for (size_t i = 0, count = 1 + Draw(random, 12); i < count; ++i) {
    if (Draw(random, 2) == 0) {
      const auto group = static_cast<int>(Draw(random, program.groups.size()));
      const int64_t elements = kElements[Draw(random, std::size(kElements))];
      for (const int rank : program.groups[group].ranks)
        launches[rank].push_back(AllReduce(group, elements, waits(launches[rank])));
    }
    const bool alike = Draw(random, 3) == 0;
    const double all = kMicroseconds[Draw(random, std::size(kMicroseconds))];
    for (std::vector<Launch>& own : launches) {
      const double one = kMicroseconds[Draw(random, std::size(kMicroseconds))];
      own.push_back(Work(alike ? all : one, static_cast<int>(Draw(random, 2)), waits(own)));
    }
  }
  return launches;
}

void ExpectOrdered(const SimulatedStep& step) {
  for (const RankTimeline& timeline : step.timelines) {
    for (const LaunchSpan& span : timeline.spans) {
      ASSERT_TRUE(std::isfinite(span.begin) && std::isfinite(span.end)) << span.launch->name;
      ASSERT_GE(span.begin, 0);
      ASSERT_GE(span.end, span.begin) << span.launch->name;
    }
  }
}

TEST(Simulate, RandomSchedulesEnd) {
  const Program program = ToyProgram();
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<Schedule> schedules = Schedules(RandomLaunches(random));
    static constexpr double kWakes[] = {0, 1e-18, 1e-6, 1e3};
    const Cluster cluster = Nodes(Draw(random, 3) > 0, kWakes[Draw(random, std::size(kWakes))]);
    const auto step = Simulate(program, Pointers(schedules), cluster, {.fold = Draw(random, 2) == 0});
    // Twelve launches of years each may be more than can be simulated.
    if (step.status().code() == absl::StatusCode::kInvalidArgument) continue;
    ASSERT_TRUE(step.ok()) << step.status();
    ExpectOrdered(*step);
  }
}

TEST(Simulate, RefusesAStepOfCenturies) {
  std::vector<std::vector<Launch>> launches(4);
  for (std::vector<Launch>& own : launches) own.assign(3, Work(4e14));
  const std::vector<Schedule> schedules = Schedules(std::move(launches));
  const absl::Status status = Simulate(ToyProgram(), Pointers(schedules), ToyCluster(2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(Simulate, RefusesDurationsThatAreNoNumbers) {
  Launch launch = Work(1);
  const std::vector<Schedule> schedules = Schedules({{launch}, {launch}, {launch}, {launch}});
  const auto simulated = [&](double bytes_per_second, double launch_seconds) {
    Cluster cluster = Nodes(/*cores_shared=*/true, 0);
    cluster.kinds[0].bytes_per_second = bytes_per_second;
    cluster.kinds[0].launch_seconds = launch_seconds;
    return Simulate(ToyProgram(), Pointers(schedules), cluster).status().code();
  };
  EXPECT_EQ(simulated(1e9, 0), absl::StatusCode::kOk);
  EXPECT_EQ(simulated(0, 0), absl::StatusCode::kInvalidArgument) << "it takes for ever";
  EXPECT_EQ(simulated(1e9, std::nan("")), absl::StatusCode::kInternal);
}

// Each node over each axis: nothing, whole, or one of its splits; axes longer than what they split.
Strategy RandomStrategy(const Graph& forward, Random& random) {
  Strategy strategy;
  strategy.mesh.axes = {{"a", 1 + static_cast<int>(Draw(random, 7))}, {"b", 1 + static_cast<int>(Draw(random, 3))}};
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const Node& node = forward.node(id);
    if (node.op->is_state()) continue;
    std::vector<std::string> words = {"", "replicate"};
    for (const Rule& rule : RulesOf(forward, node)) {
      if (rule.name != "partial") words.push_back(rule.name);
    }
    OpConfig entry{forward.name(id), {}, {}};
    for (const MeshAxis& axis : strategy.mesh.axes) {
      const std::string& word = words[Draw(random, words.size())];
      if (!word.empty()) entry.axes[axis.name] = {word, 0, {}};
    }
    if (!entry.axes.empty()) strategy.ops.push_back(std::move(entry));
  }
  return strategy;
}

TEST(Simulate, RandomStrategiesEnd) {
  const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.reference_only = true});
  const Cluster slow = Nodes(/*cores_shared=*/true, 1e-6);
  int simulated = 0;
  for (const char* name : {"lenet5", "mlp", "mini-inception"}) {
    const bool pictures = std::string(name) != "mlp";
    auto model =
        MakeModel(name, {.batch = 4, .image_size = pictures ? 28 : 0, .channel_limit = 3, .classes = 5}, Ops());
    ASSERT_TRUE(model.ok()) << model.status();
    model->learning_rate.steps = 1;
    for (uint32_t seed = 0; seed < 25; ++seed) {
      SCOPED_TRACE(testing::Message() << name << " with seed " << seed);
      Random random(seed);
      const auto program = MakeProgram(*model, RandomStrategy(model->graph, random), Ops());
      if (!program.ok()) continue;  // splits that the node, or those beside it, cannot have
      const auto schedules = MakeFoldedSchedules(*program, program->graph(kTrainEntry), *kernels);
      ASSERT_TRUE(schedules.ok()) << schedules.status();
      std::vector<const Cluster*> clusters;
      for (const auto& [cluster_name, cluster] : ShippedClusters()) clusters.push_back(&cluster);
      if (program->ranks() <= 4) clusters.push_back(&slow);
      for (const Cluster* const cluster : clusters) {
        if (!CheckRanks(*cluster, program->ranks()).ok()) continue;
        const auto step = Simulate(*program, schedules->ByRank(), *cluster);
        ASSERT_TRUE(step.ok()) << step.status();
        ExpectOrdered(*step);
        ++simulated;
      }
    }
  }
  EXPECT_GT(simulated, 100);
}

}  // namespace
}  // namespace partita
