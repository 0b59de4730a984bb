// The exchanges of docs/papers.md 4.3, between coordinates of one mesh and between two meshes, by every
// communicator and in every mode: each rank ends with its box, counted bytes are those predicted, and a tile leaves the
// ranks that held it no more than once where the mode promises that.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/ir/group_key.h"
#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/moves/plan_exchange.h"
#include "graph/passes/choose_exchanges.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/exec/executor.h"
#include "tests/conformance/comm_fixture.h"
#include "tests/graph/derive/exchange_cases.h"

namespace partita {
namespace {

// Moves and copies need no kernel.
class NoKernels : public KernelLibrary {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    return Internal("'{}' needs a kernel", node.name);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice&,
                                                 KernelArguments) const override {
    return Internal("'{}' needs a kernel", node.name);
  }
};

// A value that goes from a layout to another; of several meshes the first one has all ranks.
struct Exchange {
  std::string name;
  std::vector<Mesh> meshes;
  Shape shape;
  Layout from, to;

  int ranks() const { return meshes[0].size(); }
  std::optional<Box> BoxOf(const Layout& layout, int rank) const {
    return LocalBox(layout, shape, meshes[layout.mesh], rank);
  }
  bool between_meshes() const { return from.mesh != to.mesh; }
};

Layout On(int mesh, std::vector<AxisLayout> axes) {
  Layout layout;
  layout.assign(axes.begin(), axes.end());
  layout.mesh = mesh;
  return layout;
}

// Meshes without a common rank, that overlap, in another order, and with more ranks than there are blocks.
std::vector<Exchange> Exchanges() {
  std::vector<Exchange> all;
  for (const ExchangeCase& c : ExchangeCases()) all.push_back({c.name, {c.mesh}, c.shape, c.from, c.to});
  const AxisLayout R = AxisLayout::Replicate();
  const auto S = [](int dimension) { return AxisLayout::Split(dimension); };
  const auto meshes = [](int ranks, Mesh left, Mesh right) {
    left.name = "left";
    left.id = 1;
    right.name = "right";
    right.id = 2;
    return std::vector<Mesh>{Mesh{{{"all", ranks}}}, std::move(left), std::move(right)};
  };
  all.push_back({"two ranks to three, whole",
                 meshes(5, {{{"l", 2}}, "", {4, 1}}, {{{"r", 3}}, "", {0, 2, 3}}),
                 {7, 5, 3},
                 On(1, {S(0)}),
                 On(2, {R})});
  all.push_back({"three ranks to 2 x 2, half to each pair",
                 meshes(7, {{{"l", 3}}, "", {0, 1, 2}}, {{{"p", 2}, {"q", 2}}, "", {3, 4, 5, 6}}),
                 {7, 5, 3},
                 On(1, {S(0)}),
                 On(2, {S(1), R})});
  all.push_back({"one rank to four of which it is one",
                 meshes(4, {{{"l", 1}}, "", {2}}, {{{"r", 4}}, "", {0, 1, 2, 3}}),
                 {5, 3},
                 On(1, {R}),
                 On(2, {R})});
  all.push_back({"three ranks to four, two in both",
                 meshes(5, {{{"l", 3}}, "", {0, 1, 2}}, {{{"p", 2}, {"q", 2}}, "", {2, 3, 4, 1}}),
                 {7, 4, 3},
                 On(1, {S(0)}),
                 On(2, {R, S(1)})});
  all.push_back({"a block is empty",
                 meshes(6, {{{"l", 3}}, "", {5, 3, 1}}, {{{"r", 3}}, "", {0, 2, 4}}),
                 {2, 9},
                 On(1, {S(0)}),
                 On(2, {R})});
  return all;
}

// One exchange among all ranks.
Program ProgramOf(const Exchange& c, ExchangeMode mode) {
  Program program;
  program.meshes = c.meshes;
  Graph graph(c.meshes);
  const TensorType type{DType::kF32, c.shape};
  const OpDefinition& input = *Ops().Find("input");
  const OpDefinition& move = *Ops().Find(c.between_meshes() ? "reshard" : "repartition");
  const Attributes described = *CompleteAttributes(input, {{"dtype", std::string("f32")}, {"shape", c.shape}});
  Attributes moved;
  if (!c.between_meshes()) moved.Set("axes", std::string("stage,a,b"));
  moved = *CompleteAttributes(move, moved);
  graph.AddNode({&input, described, {}, {}, Phase::kForward}, {{"x", type, c.from, -1}});
  graph.AddNode({&move, moved, {0}, {}, Phase::kForward}, {{"y", type, c.to, -1}});
  program.entries.push_back(MakeEntryPoint(kTrainEntry, ChooseExchanges(std::move(graph), {0, 1}, mode)));
  CollectGroups(program.graph(kTrainEntry), program);
  return program;
}

// A rank at work.
struct Worker {
  std::unique_ptr<Arena> arena;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unique_ptr<Executor> executor;
};

// Calls visit(index in the box, index in the tensor).
template <typename Visit>
void ForEachElement(const Shape& shape, const Box& box, const Visit& visit) {
  for (int64_t i = 0; i < box.elements(); ++i) {
    int64_t rest = i, global = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      global += (box.offset[d] + rest % box.size[d]) * stride;
      rest /= box.size[d];
      stride *= shape[d];
    }
    visit(i, global);
  }
}

using Parameters = std::tuple<const CommBackend*, ExchangeMode, size_t>;

class ExchangeTest : public testing::TestWithParam<Parameters> {
 protected:
  ExchangeTest()
      : case_(Exchanges()[std::get<2>(GetParam())]),
        mode_(std::get<1>(GetParam())),
        program_(ProgramOf(case_, mode_)),
        schedules_(*MakeSchedules(program_, program_.graph(kTrainEntry), kernels_,
                                  {.exchange_boxes = std::get<0>(GetParam())->moves_blocks()})),
        ranks_(std::get<0>(GetParam())->CreateRanks(case_.ranks(), 0)) {}

  float* At(int rank, int64_t offset) {
    return reinterpret_cast<float*>(static_cast<char*>(workers_[rank].arena->data()) + offset);
  }

  void Bind(int rank) {
    Worker& worker = workers_.emplace_back();
    Device& device = ranks_->device(rank);
    const Schedule& schedule = schedules_[rank];
    worker.arena = *device.Allocate(std::max<int64_t>(64, schedule.memory.total));
    ExecutorBinding binding;
    for (int s = 0; s < schedule.streams; ++s) {
      worker.streams.push_back(*device.CreateStream(fmt::format("{}.{}", rank, s)));
      binding.streams.push_back(worker.streams.back().get());
    }
    binding.device = &device;
    binding.arena = worker.arena->data();
    binding.kernels = &kernels_;
    binding.communicators = {&ranks_->communicator(rank)};
    ExecutorOptions options;
    options.observe = {1};
    auto executor = Executor::Create(schedule, std::move(binding), options);
    ASSERT_OK(executor.status());
    worker.executor = *std::move(executor);
    const Placement& x = schedule.inputs[0];
    if (x.offset < 0) return;
    ForEachElement(case_.shape, x.tensor.box,
                   [&](int64_t i, int64_t global) { At(rank, x.offset)[i] = static_cast<float>(global + 1); });
  }

  void ExpectBox(int rank) {
    const LocalTensor& y = schedules_[rank].values[1].tensor;
    const auto* const held = static_cast<const float*>(workers_[rank].executor->Observed(1));
    ASSERT_EQ(held == nullptr, y.box.empty());
    if (held == nullptr) return;
    ForEachElement(case_.shape, y.box, [&](int64_t i, int64_t global) {
      ASSERT_EQ(held[i], static_cast<float>(global + 1)) << "rank " << rank << ", element " << i;
    });
  }

  // Bytes of what some rank lacks: they have to leave those that hold them at least once.
  int64_t LowerBound() const {
    std::vector<bool> lacking(Elements(case_.shape), false);
    for (int rank = 0; rank < case_.ranks(); ++rank) {
      const std::optional<Box> wanted = case_.BoxOf(case_.to, rank), held = case_.BoxOf(case_.from, rank);
      if (!wanted) continue;
      std::vector<bool> own(lacking.size(), false);
      if (held) ForEachElement(case_.shape, *held, [&](int64_t, int64_t global) { own[global] = true; });
      ForEachElement(case_.shape, *wanted,
                     [&](int64_t, int64_t global) { lacking[global] = lacking[global] || !own[global]; });
    }
    return 4 * std::count(lacking.begin(), lacking.end(), true);
  }

  // By the plan: bytes that each rank sends, and those that leave ranks which held them before. A rank that holds a
  // part of the value may also pass on what it gets.
  struct Sent {
    std::vector<int64_t> by_rank;
    int64_t from_holders = 0;
  };
  Sent PlannedSends() const {
    std::vector<std::optional<Box>> from, to;
    for (int rank = 0; rank < case_.ranks(); ++rank) {
      from.push_back(case_.BoxOf(case_.from, rank));
      to.push_back(case_.BoxOf(case_.to, rank));
    }
    const auto chunks = static_cast<int>(program_.graph(kTrainEntry).node(1).attributes.Int("chunks"));
    const ExchangePlan plan = PlanExchange(from, to, mode_, chunks);
    Sent sent{std::vector<int64_t>(from.size(), 0)};
    for (const std::vector<TileSend>& round : plan.rounds) {
      for (const TileSend& send : round) {
        const Box& tile = plan.tiles[send.tile];
        sent.by_rank[send.from] += 4 * send.count;
        const bool held = from[send.from] && Intersect(tile, *from[send.from]) == tile;
        sent.from_holders += held ? 4 * send.count : 0;
      }
    }
    return sent;
  }

  const Exchange case_;
  const ExchangeMode mode_;
  const NoKernels kernels_;
  const Program program_;
  const std::vector<Schedule> schedules_;
  const std::unique_ptr<CommRanks> ranks_;
  std::vector<Worker> workers_;
};

TEST_P(ExchangeTest, ArrivesWithTheBytesThatWerePredicted) {
  EXPECT_OK(VerifyCollectives(program_, schedules_));
  for (const Schedule& schedule : schedules_) EXPECT_OK(VerifySchedule(schedule));
  for (int rank = 0; rank < case_.ranks(); ++rank) {
    Bind(rank);
    if (HasFatalFailure()) return;
  }
  for (Worker& worker : workers_) EXPECT_OK(worker.executor->Start());
  for (Worker& worker : workers_) EXPECT_OK(worker.executor->Wait());
  ASSERT_EQ(program_.groups.size(), 1u);
  ASSERT_EQ(program_.groups[0].ranks.size(), static_cast<size_t>(case_.ranks()));
  const Sent planned = PlannedSends();
  MoveBytes counted;
  for (int rank = 0; rank < case_.ranks(); ++rank) {
    ExpectBox(rank);
    const CommBytes bytes = ranks_->communicator(rank).bytes();
    counted += {bytes.payload, bytes.wire};
    EXPECT_EQ(bytes.wire, planned.by_rank[rank]) << "rank " << rank;
  }
  EXPECT_EQ(counted, PredictBytes(program_, program_.graph(kTrainEntry))[0]);
  if (mode_ == ExchangeMode::kDirect) {
    EXPECT_EQ(planned.from_holders, counted.wire) << "nobody else sends";
  } else {
    EXPECT_EQ(planned.from_holders, LowerBound()) << "the others pass on what they have";
  }
}

// Those whose ranks are driven each by itself.
std::vector<const CommBackend*> Backends() {
  std::vector<const CommBackend*> backends = CommBackends();
  // Each case makes worlds of its own, which takes long by TLS; to exchanges its connections are as all others.
  std::erase_if(backends, [](const CommBackend* backend) {
    return backend->walked_together() || backend->name() == "tls_delayed";
  });
  return backends;
}

std::string NameOf(const testing::TestParamInfo<Parameters>& info) {
  const auto& [backend, mode, index] = info.param;
  return fmt::format("{}_{}_{}", backend->name(), Name(mode), index);
}

INSTANTIATE_TEST_SUITE_P(Cases, ExchangeTest,
                         testing::Combine(testing::ValuesIn(Backends()),
                                          testing::Values(ExchangeMode::kDirect, ExchangeMode::kSlices,
                                                          ExchangeMode::kChain),
                                          testing::Range<size_t>(0, Exchanges().size())),
                         NameOf);

}  // namespace
}  // namespace partita
