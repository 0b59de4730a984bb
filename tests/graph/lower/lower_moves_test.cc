// Every move, run on plain memory: what each rank has afterwards is its box of the global value.
#include "graph/lower/moves/lower_moves.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "tests/graph/schedule/interpreter.h"
#include "tests/graph/schedule/schedule_testing.h"
#include "tests/graph/schedule/short_layouts.h"

namespace partita {
namespace {

using short_layouts::At, short_layouts::P, short_layouts::R, short_layouts::S, short_layouts::W, short_layouts::kGrid,
    short_layouts::kLine;

const Mesh kWide{{{"data", 2}, {"model", 3}}};

struct Case {
  std::string op;
  std::string axes;
  Mesh mesh;
  Shape shape;
  Layout from, to;
  Attributes attributes = {};
};

// How an exchange is made.
Attributes By(const char* mode, int64_t chunks = 1) { return {{"mode", std::string(mode)}, {"chunks", chunks}}; }

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.op << " over " << c.axes << " " << ToString(c.shape) << " " << ToString(c.from, c.mesh) << " -> "
             << ToString(c.to, c.mesh);
}

// Packed, or where it can be with boxes from rank to rank.
class EveryMove : public testing::TestWithParam<std::tuple<Case, bool>> {
 protected:
  using Base = testing::TestWithParam<std::tuple<Case, bool>>;

  EveryMove() : builder_(GetParam().mesh) {
    Attributes attributes;
    for (const AxisLayout& axis : GetParam().from) {
      if (axis.partial()) attributes.Set("partial", true);
    }
    input_ = builder_.Op("fill", "x", {}, GetParam().shape, GetParam().from, attributes);
    output_ = builder_.Move(GetParam().op, GetParam().axes, input_, GetParam().to, GetParam().attributes);
    program_ = ProgramOf(builder_.graph);
    schedules_ = SchedulesOf(program_, program_.graph(kTrainEntry), {.exchange_boxes = std::get<1>(Base::GetParam())});
  }

  static const Case& GetParam() { return std::get<0>(Base::GetParam()); }

  // What rank r holds of the output right after it is made.
  std::vector<std::vector<float>> Run() {
    std::vector<std::vector<float>> held(schedules_.size());
    Interpreter interpreter(program_, schedules_);
    interpreter.after = [&](int rank, int launch) {
      const ValuePlacement& placement = schedules_[rank].values[output_];
      if (placement.launch != launch) return;
      held[rank] = interpreter.Read(rank, placement.offset, placement.tensor.elements());
    };
    EXPECT_TRUE(interpreter.Step(1));
    return held;
  }

  bool Sums() const {
    return GetParam().op == "all_reduce" || GetParam().op == "reduce_scatter" || GetParam().op == "sum_reduce";
  }

  std::vector<int> GroupOf(int rank) {
    LocalProgram out;
    std::vector<int> axes;
    for (size_t a = 0; a < GetParam().mesh.axes.size(); ++a) {
      if (GetParam().axes.find(GetParam().mesh.axes[a].name) != std::string::npos) axes.push_back(static_cast<int>(a));
    }
    return GetParam().mesh.Group(rank, axes);
  }

  // The element with global index i, as a rank of this group has it; -1: in a margin.
  float Expected(int rank, int64_t i) {
    if (i < 0) return 0;
    if (!Sums()) return static_cast<float>(i);
    float sum = 0;
    for (int peer : GroupOf(rank)) sum += static_cast<float>(i + 1000 * (peer + 1));
    return sum;
  }

  // Global indices of the elements of a box, in row-major order; -1 of those in a margin.
  std::vector<int64_t> Indices(const std::optional<Box>& box) const {
    std::vector<int64_t> indices;
    const Shape& shape = GetParam().shape;
    for (int64_t i = 0; box && i < box->elements(); ++i) {
      int64_t rest = i, global = 0, stride = 1;
      bool inside = true;
      for (size_t d = shape.size(); d-- > 0;) {
        const int64_t index = box->offset[d] + rest % box->size[d];
        inside = inside && index >= 0 && index < shape[d];
        global += index * stride;
        rest /= box->size[d];
        stride *= shape[d];
      }
      indices.push_back(inside ? global : -1);
    }
    return indices;
  }

  TestGraph builder_;
  ValueId input_ = kNoValue, output_ = kNoValue;
  Program program_;
  std::vector<Schedule> schedules_;
};

TEST_P(EveryMove, LeavesEachRankItsBox) {
  for (const Schedule& schedule : schedules_) {
    const absl::Status status = VerifySchedule(schedule);
    EXPECT_TRUE(status.ok()) << status;
  }
  const absl::Status status = VerifyCollectives(program_, schedules_);
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<std::vector<float>> held = Run();
  const bool zero_extend = GetParam().op == "zero_extend";
  for (int rank = 0; rank < GetParam().mesh.size(); ++rank) {
    const std::vector<int64_t> indices =
        Indices(LocalBox(builder_.graph.layout(output_), GetParam().shape, GetParam().mesh, rank));
    ASSERT_EQ(held[rank].size(), indices.size()) << "rank " << rank;
    for (size_t i = 0; i < indices.size(); ++i) {
      float value = held[rank][i];
      if (zero_extend) {  // the summands of the group are the value
        const bool maximum = GetParam().to[0].reduction == Reduction::kMax;
        value = 0;
        for (int peer : GroupOf(rank)) value = maximum ? std::max(value, held[peer][i]) : value + held[peer][i];
      }
      ASSERT_EQ(value, Expected(rank, indices[i])) << "rank " << rank << " element " << i;
    }
  }
}

// The chosen op alone: nothing else is launched, and no rank of a group is missing.
TEST_P(EveryMove, EitherAllRanksOfAGroupMeetOrNone) {
  for (const CommunicationGroup& group : program_.groups) {
    const int id = static_cast<int>(&group - program_.groups.data());
    std::vector<int> calls(GetParam().mesh.size(), 0);
    for (const Schedule& schedule : schedules_) {
      for (const Launch& launch : schedule.launches) {
        const auto* collective = std::get_if<CollectiveLaunch>(&launch.work);
        if (collective != nullptr && collective->group == id) ++calls[schedule.rank];
      }
    }
    for (int rank : group.ranks) EXPECT_EQ(calls[rank], calls[group.ranks[0]]);
  }
}

const Case kCases[] = {
    {"all_reduce", "data", kLine, {5, 3}, {P}, {R}},
    {"all_reduce", "data", kLine, {}, {P}, {R}},
    {"all_reduce", "data", kLine, {0, 3}, {P}, {R}},
    {"all_reduce", "data,model", kGrid, {5}, {P, P}, {R, R}},
    {"all_reduce", "model", kGrid, {5, 3}, {S(0), P}, {S(0), R}},
    {"all_reduce", "model", kGrid, {1, 3}, {S(0), P}, {S(0), R}},
    {"all_reduce", "data", kGrid, {4}, {P, At(1)}, {R, At(1)}},
    {"all_reduce", "data", {{{"data", 1}}}, {4}, {P}, {R}},
    {"all_gather", "data", kLine, {10, 2}, {S(0)}, {R}},
    {"all_gather", "data", kLine, {3, 10}, {S(1)}, {R}},
    {"all_gather", "data", kLine, {2, 3}, {S(0)}, {R}},
    {"all_gather", "data", kLine, {3, 2}, {S(1)}, {R}},
    {"all_gather", "data", kLine, {9}, {S(0, {0, 0, 5, 5, 9})}, {R}},
    {"all_gather", "data,model", kGrid, {10}, {S(0), S(0)}, {R, R}},
    {"all_gather", "model", kGrid, {10, 3}, {S(0), S(0)}, {S(0), R}},
    {"all_gather", "data,model", kGrid, {5, 7}, {S(0), S(1)}, {R, R}},
    {"all_gather", "data", kGrid, {5, 7}, {S(1), S(0)}, {R, S(0)}},
    {"reduce_scatter", "data", kLine, {10, 2}, {P}, {S(0)}},
    {"reduce_scatter", "data", kLine, {3, 10}, {P}, {S(1)}},
    {"reduce_scatter", "data", kLine, {2, 3}, {P}, {S(0)}},
    {"reduce_scatter", "data", kLine, {2, 3}, {P}, {S(1)}},
    {"reduce_scatter", "data,model", kGrid, {7, 3}, {P, P}, {S(0), S(1)}},
    {"broadcast", "data", kLine, {3, 2}, {At(2)}, {R}},
    {"broadcast", "model", kGrid, {5}, {S(0), At(1)}, {S(0), R}},
    {"broadcast", "data,model", kGrid, {5}, {At(1), At(0)}, {R, R}},
    {"sum_reduce", "data", kLine, {3, 2}, {P}, {At(1)}},
    {"sum_reduce", "data,model", kGrid, {3}, {P, P}, {At(1), At(1)}},
    {"send", "data", kLine, {3, 2}, {At(0)}, {At(3)}},
    {"send", "data", kLine, {3, 2}, {At(2)}, {At(2)}},
    {"send", "data", kLine, {}, {At(1)}, {At(0)}},
    {"send", "model", kGrid, {3, 2}, {S(0), At(0)}, {S(0), At(1)}},
    {"gather", "data", kLine, {10, 2}, {S(0)}, {At(2)}},
    {"gather", "data", kLine, {3, 10}, {S(1)}, {At(0)}},
    {"gather", "data", kLine, {3, 2}, {S(1)}, {At(3)}},
    {"scatter", "data", kLine, {10, 2}, {At(1)}, {S(0)}},
    {"scatter", "data", kLine, {3, 10}, {At(1)}, {S(1)}},
    {"scatter", "data", kLine, {2, 3}, {At(3)}, {S(0)}},
    {"repartition", "data", kLine, {6, 5}, {S(0)}, {S(1)}},
    {"repartition", "data", kLine, {9, 2}, {S(0, {0, 7, 7, 8, 9})}, {S(0)}},
    {"repartition", "data", kLine, {2, 3}, {S(0)}, {S(1)}},
    {"repartition", "data,model", kGrid, {7, 3}, {S(0), R}, {R, S(0)}},
    {"repartition", "data,model", kGrid, {7, 3}, {R, S(1)}, {S(0), At(1)}},
    {"repartition", "data,model", kGrid, {7, 3}, {At(1), S(1)}, {S(0), R}},
    {"repartition", "data,model", kGrid, {4, 4}, {R, R}, {S(0), S(1)}},
    {"repartition", "data", kLine, {6, 5}, {S(0)}, {W(1, "5x3/1-1")}},
    {"repartition", "data,model", kGrid, {8, 5}, {S(0), R}, {W(0, "8x3/1-1"), W(0, "8x3/1-1")}},
    {"halo_exchange", "data", kLine, {10, 2}, {S(0)}, {W(0, "10x3/1-1")}},
    {"halo_exchange", "data", kLine, {10, 2}, {S(0)}, {W(0, "10x3/1-1,clipped")}},
    {"halo_exchange", "data", kLine, {2, 10}, {S(1)}, {W(1, "10x5/1-2")}},
    {"halo_exchange", "data", kLine, {2, 11}, {S(1)}, {W(1, "5x2/2-0")}},
    {"halo_exchange", "data", kLine, {2, 11}, {S(1, {0, 0, 8, 8, 11})}, {W(1, "6x1/2-0", {0, 3, 3, 4, 6})}},
    {"halo_exchange", "data", kLine, {4, 2}, {S(0)}, {W(0, "4x9/1-4")}},
    {"halo_exchange", "data", kLine, {3, 2}, {S(0)}, {W(0, "2x2/1-0,clipped")}},
    {"halo_exchange", "data", kLine, {8, 2}, {S(0)}, {W(0, "4x2/2-0,clipped")}},
    {"halo_exchange", "data", kLine, {10, 2}, {S(0)}, {W(0, "4x1/3-0,clipped")}},
    {"halo_exchange", "model", kGrid, {6, 7}, {W(0, "6x3/1-1"), S(1)}, {W(0, "6x3/1-1"), W(1, "7x3/1-1")}},
    {"halo_exchange", "data,model", kGrid, {9, 2}, {S(0), S(0)}, {W(0, "9x3/1-1"), W(0, "9x3/1-1")}},
    {"scatter", "data", kLine, {3, 10}, {At(1)}, {W(1, "10x3/1-1")}},
    {"slice_move", "data", kLine, {5, 10}, {R}, {W(1, "10x3/1-1")}},
    {"slice_move", "data", kLine, {10, 3}, {R}, {S(0)}},
    {"slice_move", "data", kLine, {3, 10}, {R}, {S(1)}},
    {"slice_move", "model", kGrid, {10, 3}, {S(0), R}, {S(0), S(0)}},
    {"drop", "data", kLine, {3}, {R}, {At(2)}},
    {"zero_extend", "data", kLine, {10, 3}, {S(0)}, {P}},
    {"zero_extend", "data", kLine, {3, 10}, {S(1)}, {P}},
    {"zero_extend", "data", kLine, {2, 3}, {S(0)}, {P}},
    {"zero_extend", "data", kLine, {3}, {At(2)}, {P}},
    {"zero_extend", "data", kLine, {3}, {R}, {P}},
    {"zero_extend", "data", kLine, {3}, {R}, {AxisLayout::Partial(Reduction::kMax)}},
    {"zero_extend", "data,model", kGrid, {5, 3}, {S(1), R}, {P, P}},
};
// Exchanges in rounds. Tiles that are one run in what is sent from or received into, or not; received by those that
// hold other tiles, by those that hold none; in more chunks than elements; margins; empty blocks.
const Case kRounds[] = {
    {"repartition", "data,model", kGrid, {5, 3}, {At(0), S(0)}, {R, R}, By("chain", 2)},
    {"repartition", "data,model", kGrid, {5, 3}, {At(0), S(1)}, {R, R}, By("chain", 4)},
    {"repartition", "data,model", kGrid, {5, 3}, {At(0), S(1)}, {R, R}, By("slices")},
    {"repartition", "data,model", kGrid, {5, 3}, {At(0), At(1)}, {R, R}, By("chain", 64)},
    {"repartition", "data,model", kGrid, {5, 3}, {At(0), At(1)}, {R, R}, By("slices")},
    {"repartition", "data,model", kGrid, {5, 3}, {At(0), At(1)}, {S(0), R}, By("slices")},
    {"repartition", "data,model", kWide, {6, 4, 3}, {At(1), At(1)}, {S(1), R}, By("slices")},
    {"repartition", "data,model", kWide, {1, 5, 3}, {At(1), At(2)}, {S(0), R}, By("slices")},
    {"repartition", "data,model", kWide, {1, 4, 2}, {S(1), S(1)}, {S(0), R}, By("chain", 4)},
    {"repartition", "data,model", kGrid, {5, 3}, {S(0), At(1)}, {R, S(1)}, By("chain", 3)},
    {"repartition", "data,model", kGrid, {5, 3}, {S(0), At(1)}, {R, S(1)}, By("slices")},
    {"repartition", "data,model", kGrid, {1, 3}, {S(0), S(1)}, {R, R}, By("slices")},
    {"repartition", "data,model", kGrid, {1, 3}, {S(0), S(1)}, {R, R}, By("chain", 2)},
    {"repartition", "data,model", kGrid, {0, 3}, {S(0), S(1)}, {R, R}, By("chain", 2)},
    {"repartition", "data", kLine, {6}, {S(0, {0, 0, 3, 6, 6})}, {R}, By("chain", 2)},
    {"repartition", "data", kLine, {6, 2}, {S(0, {0, 0, 3, 6, 6})}, {W(0, "6x3/1-1")}, By("chain", 2)},
    {"repartition", "data", kLine, {6, 2}, {S(1, {0, 0, 2, 2, 2})}, {W(0, "6x3/1-1")}, By("slices")},
    {"scatter", "data", kLine, {2, 6}, {At(2)}, {W(1, "6x3/1-1")}, By("chain", 3)},
    {"scatter", "data", kLine, {6}, {At(2)}, {S(0)}, By("chain", 3)},
    {"gather", "data", kLine, {6}, {S(0)}, {At(2)}, By("slices")},
};

INSTANTIATE_TEST_SUITE_P(AllMoves, EveryMove, testing::Combine(testing::ValuesIn(kCases), testing::Bool()));
INSTANTIATE_TEST_SUITE_P(InRounds, EveryMove, testing::Combine(testing::ValuesIn(kRounds), testing::Bool()));

}  // namespace
}  // namespace partita
