// Computing while ghosts travel: what runs before an exchange has ended, what after it, and that nothing else changes.
#include "graph/lower/split_at_halos.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/registry.h"
#include "tests/graph/schedule/schedule_testing.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Split {
  std::string name;
  Mesh mesh;
  bool exchange_boxes = false;
};

void PrintTo(const Split& split, std::ostream* out) { *out << split.name; }

Program SplitLeNet(const Mesh& mesh, int64_t batch, int64_t image_size) {
  absl::StatusOr<Model> model = MakeModel("lenet5", {.batch = batch, .image_size = image_size}, Ops());
  EXPECT_TRUE(model.ok()) << model.status();
  model->learning_rate = LearningRate{};
  Strategy strategy;
  strategy.mesh = mesh;
  for (const MeshAxis& axis : mesh.axes) {
    const std::string split = axis.name == "data" ? "samples" : axis.name;
    strategy.ops.push_back({"images", {{axis.name, AxisConfig{split, 0, {}}}}, {}});
  }
  absl::StatusOr<Program> program = MakeProgram(*model, strategy, Ops(), {.verify_passes = true});
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

bool EndsWith(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

bool IsInterior(const Launch& launch) { return EndsWith(launch.name, "/interior"); }
bool IsBoundary(const Launch& launch) { return launch.name.find("/boundary") != std::string::npos; }

int Interiors(const std::vector<Schedule>& schedules) {
  int count = 0;
  for (const Schedule& schedule : schedules) {
    count += static_cast<int>(std::count_if(schedule.launches.begin(), schedule.launches.end(), IsInterior));
  }
  return count;
}

// The launches that have ended when launch l starts, whatever the reason.
std::vector<bool> Before(const Schedule& schedule, int l) {
  std::vector<bool> before(schedule.launches.size(), false);
  std::vector<int> open = {l};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    std::vector<int> earlier = schedule.launches[at].waits;
    for (int other = at - 1; other >= 0; --other) {
      if (schedule.launches[other].stream != schedule.launches[at].stream) continue;
      earlier.push_back(other);
      break;
    }
    for (const int other : earlier) {
      if (before[other]) continue;
      before[other] = true;
      open.push_back(other);
    }
  }
  return before;
}

// The collectives of the halo exchanges that lead to what the convolution of a launch reads.
std::vector<int> ExchangesOf(const Schedule& schedule, const Graph& graph, const Launch& launch) {
  std::set<NodeId> nodes;
  NodeId node = graph.value(graph.node(launch.node).inputs[0]).producer;
  for (; graph.node(node).op->name == "halo_exchange"; node = graph.value(graph.node(node).inputs[0]).producer) {
    nodes.insert(node);
  }
  std::vector<int> exchanges;
  for (size_t l = 0; l < schedule.launches.size(); ++l) {
    const bool collective = std::holds_alternative<CollectiveLaunch>(schedule.launches[l].work);
    if (collective && nodes.count(schedule.launches[l].node) > 0) exchanges.push_back(static_cast<int>(l));
  }
  return exchanges;
}

class OverlappedHalos : public testing::TestWithParam<Split> {
 protected:
  OverlappedHalos() : program_(SplitLeNet(GetParam().mesh, 4, 20)) {}

  std::vector<Schedule> Make(const Graph& entry, OverlapHalo overlap, int compute_streams = 1) const {
    return SchedulesOf(
        program_, entry,
        {.compute_streams = compute_streams, .overlap_halo = overlap, .exchange_boxes = GetParam().exchange_boxes},
        1000);
  }

  Program program_;
};

TEST_P(OverlappedHalos, AreProvenAndMoveTheSame) {
  for (const Graph* entry : {&program_.graph(kTrainEntry), &program_.graph(kEvaluateEntry)}) {
    for (const int streams : {1, 3}) {
      const std::vector<Schedule> off = Make(*entry, OverlapHalo::kOff, streams);
      const std::vector<Schedule> on = Make(*entry, OverlapHalo::kOn, streams);
      EXPECT_EQ(Interiors(off), 0);
      EXPECT_GT(Interiors(on), 0);
      const absl::Status status = VerifyCollectives(program_, on);
      EXPECT_TRUE(status.ok()) << status;
      for (size_t rank = 0; rank < on.size(); ++rank) {
        const absl::Status proven = VerifySchedule(on[rank]);
        EXPECT_TRUE(proven.ok()) << "rank " << rank << ": " << proven;
        const auto collectives = [](const Schedule& schedule) {
          std::vector<std::string> calls;
          for (const Launch& launch : schedule.launches) {
            const auto* const call = std::get_if<CollectiveLaunch>(&launch.work);
            if (call == nullptr) continue;
            calls.push_back(launch.name + " " + std::to_string(call->input_count) + " " +
                            std::to_string(call->output_count));
          }
          return calls;
        };
        EXPECT_EQ(collectives(on[rank]), collectives(off[rank]));
      }
    }
  }
}

TEST_P(OverlappedHalos, TheInteriorWaitsForNoGhostAndTheBoundaryForAll) {
  for (const Graph* entry : {&program_.graph(kTrainEntry), &program_.graph(kEvaluateEntry)}) {
    for (const Schedule& schedule : Make(*entry, OverlapHalo::kOn)) {
      for (size_t l = 0; l < schedule.launches.size(); ++l) {
        const Launch& launch = schedule.launches[l];
        if (!IsInterior(launch)) continue;
        const std::vector<int> exchanges = ExchangesOf(schedule, *entry, launch);
        EXPECT_FALSE(exchanges.empty()) << launch.name;
        const std::vector<bool> before = Before(schedule, static_cast<int>(l));
        for (const int exchange : exchanges) EXPECT_FALSE(before[exchange]) << launch.name << " rank " << schedule.rank;
        int last = -1;
        for (size_t b = l; b < schedule.launches.size(); ++b) {
          if (schedule.launches[b].node == launch.node && IsBoundary(schedule.launches[b])) last = static_cast<int>(b);
        }
        ASSERT_GE(last, 0) << launch.name;
        const std::vector<bool> before_boundary = Before(schedule, last);
        for (const int exchange : exchanges) EXPECT_TRUE(before_boundary[exchange]) << launch.name;
      }
    }
  }
}

TEST_P(OverlappedHalos, PartsAreAllOfTheOutput) {
  for (const Schedule& schedule : Make(program_.graph(kTrainEntry), OverlapHalo::kOn)) {
    std::map<NodeId, int64_t> made;
    for (const Launch& launch : schedule.launches) {
      if (!IsInterior(launch) && !IsBoundary(launch)) continue;
      made[launch.node] += std::get<KernelLaunch>(launch.work).node.outputs[0].elements();
    }
    for (const auto& [node, elements] : made) {
      EXPECT_EQ(elements, schedule.values[program_.graph(kTrainEntry).node(node).outputs[0]].tensor.elements());
    }
  }
}

TEST_P(OverlappedHalos, NoWaitIsTooMuch) {
  const std::vector<Schedule> schedules = Make(program_.graph(kTrainEntry), OverlapHalo::kOn, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const Schedule& schedule = schedules[rank];
    for (size_t l = 0; l < schedule.launches.size(); ++l) {
      for (size_t w = 0; w < schedule.launches[l].waits.size(); ++w) {
        Schedule broken = schedule;
        broken.launches[l].waits.erase(broken.launches[l].waits.begin() + static_cast<std::ptrdiff_t>(w));
        EXPECT_FALSE(VerifySchedule(broken).ok()) << schedule.launches[l].name;
      }
    }
  }
}

// Ghosts of an input's gradient are on their way while the gradient of the weights is computed.
TEST_P(OverlappedHalos, GhostsGoBackBeforeTheWeightsGradient) {
  const Graph& graph = program_.graph(kTrainEntry);
  int seen = 0;
  for (const Schedule& schedule : Make(graph, OverlapHalo::kAuto)) {
    for (size_t l = 0; l < schedule.launches.size(); ++l) {
      const auto* const call = std::get_if<CollectiveLaunch>(&schedule.launches[l].work);
      if (call == nullptr || call->input_count == 0) continue;
      const Node& exchange = graph.node(schedule.launches[l].node);
      if (exchange.op->name != "halo_exchange_adjoint") continue;
      const Node& input_gradient = graph.node(graph.value(exchange.inputs[0]).producer);
      if (input_gradient.op->name != "conv2d_input_grad") continue;
      const std::vector<bool> before = Before(schedule, static_cast<int>(l));
      for (size_t other = 0; other < schedule.launches.size(); ++other) {
        if (schedule.launches[other].node < 0) continue;
        const Node& node = graph.node(schedule.launches[other].node);
        if (node.op->name != "conv2d_weight_grad" || node.inputs[1] != input_gradient.inputs[0]) continue;
        ++seen;
        EXPECT_FALSE(before[other]) << schedule.launches[l].name << " waits for " << schedule.launches[other].name;
        EXPECT_GT(other, l);
      }
    }
  }
  EXPECT_GT(seen, 0);
}

INSTANTIATE_TEST_SUITE_P(Splits, OverlappedHalos,
                         testing::Values(Split{"h2", {{{"height", 2}}}}, Split{"h3", {{{"height", 3}}}},
                                         Split{"w2", {{{"width", 2}}}}, Split{"h2w2", {{{"height", 2}, {"width", 2}}}},
                                         Split{"d2h2", {{{"data", 2}, {"height", 2}}}}, Split{"h8", {{{"height", 8}}}},
                                         Split{"h3_boxes", {{{"height", 3}}}, true},
                                         Split{"h2w2_boxes", {{{"height", 2}, {"width", 2}}}, true}),
                         [](const testing::TestParamInfo<Split>& info) { return info.param.name; });

// Rows before columns: what needs ghost rows alone does not wait for ghost columns.
TEST(SplitAtHalos, BoundaryRowsDoNotWaitForColumns) {
  const Program program = SplitLeNet({{{"height", 2}, {"width", 2}}}, 4, 20);
  const Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), {.overlap_halo = OverlapHalo::kOn})[0];
  int early = 0;
  for (size_t l = 0; l < schedule.launches.size(); ++l) {
    if (!IsBoundary(schedule.launches[l])) continue;
    const std::vector<int> exchanges = ExchangesOf(schedule, program.graph(kTrainEntry), schedule.launches[l]);
    ASSERT_EQ(exchanges.size(), 2u);
    const std::vector<bool> before = Before(schedule, static_cast<int>(l));
    EXPECT_TRUE(before[exchanges[0]]);
    early += !before[exchanges[1]];
  }
  EXPECT_GE(early, 1);
}

TEST(SplitAtHalos, PaysForLargeConvolutionsOnly) {
  const Mesh rows{{{"height", 2}}};
  const Program small = SplitLeNet(rows, 2, 12), large = SplitLeNet(rows, 16, 64);
  const ScheduleOptions usual{.speed = MachineSpeed{.hiding_flops = 4e6}};
  EXPECT_EQ(Interiors(SchedulesOf(small, small.graph(kTrainEntry), usual)), 0);
  EXPECT_EQ(Interiors(SchedulesOf(large, large.graph(kTrainEntry), usual)), 4) << "two convolutions on two ranks";
  const ScheduleOptions quick{.speed = MachineSpeed{.hiding_flops = 1e12}};
  EXPECT_EQ(Interiors(SchedulesOf(large, large.graph(kTrainEntry), quick)), 0) << "on a device that is done too soon";
  EXPECT_EQ(Interiors(SchedulesOf(large, large.graph(kTrainEntry))), 0) << "on a device of which nothing is known";
  // Of 16 ranks each has four rows of 64, of which a 5 x 5 convolution leaves none, or two, inside.
  const Program thin = SplitLeNet({{{"height", 16}}}, 16, 64);
  EXPECT_LE(Interiors(SchedulesOf(thin, thin.graph(kTrainEntry), usual)), 2)
      << "at the two ends, where only one side is cut";
}

class WholeKernels : public TestKernels {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    if (!node.within.empty()) return absl::InvalidArgumentError("no parts");
    return TestKernels::Choose(node);
  }
};

TEST(SplitAtHalos, WhatNoKernelTakesInPartsStaysWhole) {
  const Program program = SplitLeNet({{{"height", 2}}}, 4, 20);
  const absl::StatusOr<std::vector<Schedule>> schedules =
      MakeSchedules(program, program.graph(kTrainEntry), WholeKernels(), {.overlap_halo = OverlapHalo::kOn});
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  EXPECT_EQ(Interiors(*schedules), 0);
}

}  // namespace
}  // namespace partita
